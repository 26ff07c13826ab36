/* The reads' way into the library.  cffi makes an object of each buffer that it passes, which
 * costs as much as reading a small batch; this takes NumPy's buffers as they are.
 * build_dds.py places it behind shim.c. */

#if Py_LIMITED_API + 0 && Py_LIMITED_API + 0 < 0x030b0000
/* Older than the limited API's own declaration (3.11), and the same since Python 3.0. */
typedef struct {
    void *buf;
    PyObject *obj;
    Py_ssize_t len, itemsize;
    int readonly, ndim;
    char *format;
    Py_ssize_t *shape, *strides, *suboffsets;
    void *internal;
} Py_buffer;
extern int PyObject_GetBuffer(PyObject *, Py_buffer *, int);
extern void PyBuffer_Release(Py_buffer *);
#define PyBUF_WRITABLE 1
#define PyBUF_ND       8
#endif

typedef int read_rows_t(dds_store_t, const char *, int64_t, const int64_t *, void *, size_t);

/* Whether a destination is of `n` rows, of elements and rows of these sizes. */
static int fits(const Py_buffer *out, int64_t n, Py_ssize_t itemsize, Py_ssize_t row_bytes)
{
    return out->ndim > 0 && out->shape[0] == n && out->itemsize == itemsize &&
           (row_bytes == 0 ? out->len == 0
                           : out->len % row_bytes == 0 && out->len / row_bytes == n);
}

/* (store: int, name: bytes, rows, out, itemsize: int, row_bytes: int) -> int
 * The code of dds_get_batch or its like; -1 where the buffers are not as they should be: `rows`
 * contiguous and of one axis, `out` contiguous, writable and of as many rows.  Then nothing was done,
 * and the caller finds out why.  That `rows` are of int64 is the caller's word. */
static PyObject *read_rows(read_rows_t *read, PyObject *const *args, Py_ssize_t count)
{
    if (count != 6) {
        PyErr_SetString(PyExc_TypeError, "gather takes 6 arguments");
        return NULL;
    }
    dds_store_t store = (dds_store_t)PyLong_AsVoidPtr(args[0]);
    const char *name = PyBytes_AsString(args[1]);
    const Py_ssize_t itemsize = PyLong_AsSsize_t(args[4]);
    const Py_ssize_t row_bytes = PyLong_AsSsize_t(args[5]);
    if (!name || PyErr_Occurred())
        return NULL;

    Py_buffer rows, out;
    int code = -1;
    if (PyObject_GetBuffer(args[2], &rows, PyBUF_ND)) {
        PyErr_Clear();
        return PyLong_FromLong(code);
    }
    if (PyObject_GetBuffer(args[3], &out, PyBUF_ND | PyBUF_WRITABLE)) {
        PyErr_Clear();
    } else {
        if (rows.ndim == 1 && fits(&out, rows.shape[0], itemsize, row_bytes)) {
            PyThreadState *thread = PyEval_SaveThread();
            code = read(store, name, rows.shape[0], (const int64_t *)rows.buf, out.buf,
                        (size_t)out.len);
            PyEval_RestoreThread(thread);
        }
        PyBuffer_Release(&out);
    }
    PyBuffer_Release(&rows);
    return PyLong_FromLong(code);
}

static PyObject *gather(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    return read_rows(bound_dds_get_batch, args, count);
}

static PyObject *gather_all(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    return read_rows(bound_dds_get_batch_all, args, count);
}

/* (store: int, name: bytes, first: int, out, itemsize: int, row_bytes: int) -> int
 * The code of dds_get for as many rows as `out` has; -1 where that is not contiguous, writable and
 * of rows of this size. */
static PyObject *fetch(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count != 6) {
        PyErr_SetString(PyExc_TypeError, "fetch takes 6 arguments");
        return NULL;
    }
    dds_store_t store = (dds_store_t)PyLong_AsVoidPtr(args[0]);
    const char *name = PyBytes_AsString(args[1]);
    const long long first = PyLong_AsLongLong(args[2]);
    const Py_ssize_t itemsize = PyLong_AsSsize_t(args[4]);
    const Py_ssize_t row_bytes = PyLong_AsSsize_t(args[5]);
    if (!name || PyErr_Occurred())
        return NULL;

    Py_buffer out;
    int code = -1;
    if (PyObject_GetBuffer(args[3], &out, PyBUF_ND | PyBUF_WRITABLE)) {
        PyErr_Clear();
        return PyLong_FromLong(code);
    }
    if (out.ndim > 0 && fits(&out, out.shape[0], itemsize, row_bytes)) {
        PyThreadState *thread = PyEval_SaveThread();
        code = bound_dds_get(store, name, first, out.shape[0], out.buf, (size_t)out.len);
        PyEval_RestoreThread(thread);
    }
    PyBuffer_Release(&out);
    return PyLong_FromLong(code);
}

#define METHOD(fn)                                                \
    {                                                             \
#fn, (PyCFunction)(void (*)(void))fn, METH_FASTCALL, NULL \
    }
static PyMethodDef gather_methods[] = {METHOD(gather), METHOD(gather_all), METHOD(fetch)};

/* Make them names of pyddstore._binding; NULL, or what failed. */
static const char *pyddstore_offer_gather(void)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *module = PyImport_AddModule("pyddstore._binding"); /* borrowed */
    int failed = !module;
    for (size_t i = 0; !failed && i < sizeof gather_methods / sizeof *gather_methods; i++) {
        PyObject *function = PyCFunction_New(&gather_methods[i], NULL);
        failed = !function || PyObject_SetAttrString(module, gather_methods[i].ml_name, function);
        Py_XDECREF(function);
    }
    PyErr_Clear();
    PyGILState_Release(gil);
    return failed ? "no memory" : NULL;
}
