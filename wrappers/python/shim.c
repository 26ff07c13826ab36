/* What the Python binding needs in C: bind libddstore by handle, and let Ctrl-C through.
 * build_dds.py places this behind ddstore.h and DDS_EACH, the list of its functions; after it each
 * dds_ name means the pointer that is bound here. */
#include <dlfcn.h>

#define DECLARE(fn) static __typeof__(fn) *bound_##fn;
DDS_EACH(DECLARE)

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)
#define SONAME   "libddstore.so." TEXT(DDSTORE_VERSION_MAJOR)

/* NULL, or why the library cannot be used.  A process may hold other libraries that export dds_free
 * to all: the dynamic linker would take theirs, since theirs carry no version.  So nothing is linked;
 * each name is looked up in our library's own handle. */
static const char *pyddstore_bind(void)
{
    void *library = dlopen("$ORIGIN/" SONAME, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return dlerror();
#define BIND(fn)                                        \
    bound_##fn = (__typeof__(fn) *)dlsym(library, #fn); \
    if (!bound_##fn)                                    \
        return dlerror();
    DDS_EACH(BIND)
    return NULL;
}

/* The exception of a signal handler waits in pyddstore._binding.kept until the call that it ends has
 * returned: a result with an exception set would be a SystemError. */
static void keep_exception(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (value && traceback)
        PyException_SetTraceback(value, traceback);
    PyObject *module = PyImport_AddModule("pyddstore._binding"); /* borrowed */
    PyObject *kept = module ? PyObject_GetAttrString(module, "kept") : NULL;
    if (!kept || PyObject_SetAttrString(kept, "exception", value))
        PyErr_Clear();
    Py_XDECREF(kept);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

/* For dds_set_interrupt.  Python runs signal handlers on its main thread alone; elsewhere this is a
 * look at a flag. */
static int pyddstore_check_signals(void *ctx)
{
    (void)ctx;
    PyGILState_STATE gil = PyGILState_Ensure();
    const int raised = PyErr_CheckSignals() != 0;
    if (raised)
        keep_exception();
    PyGILState_Release(gil);
    return raised;
}
