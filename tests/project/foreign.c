/* Another library of the same names: OMG DDS implementations export dds_free, dds_alloc and more,
 * with other types.  Any call that ends here is counted. */
#include <stddef.h>

int foreign_calls;

void dds_free(void *memory);
void *dds_alloc(size_t bytes);
int dds_get(int reader);
const char *dds_strerror(int code);

void dds_free(void *memory)
{
    (void)memory;
    foreign_calls++;
}

void *dds_alloc(size_t bytes)
{
    (void)bytes;
    foreign_calls++;
    return NULL;
}

int dds_get(int reader)
{
    foreign_calls++;
    return reader;
}

const char *dds_strerror(int code)
{
    (void)code;
    foreign_calls++;
    return "foreign";
}
