/* Values of the node as the getters read them: each of one generation. */
#include "state/values.h"

#include "state/visible.h"

nvmlReturn_t read_scalar(unsigned int gpu, unsigned int field, uint64_t *value) {
    fn_Scalar scalar;
    nvmlReturn_t rc = map_snapshot(fn_current(),
                                   offsetof(fn_State, gpus) + gpu * sizeof(fn_Gpu) + offsetof(fn_Gpu, scalars) +
                                       field * sizeof(fn_Scalar),
                                   &scalar, sizeof(scalar));
    if (rc == OK) rc = scalar.rc;
    if (rc == OK) *value = scalar.value;
    return rc;
}

nvmlReturn_t copy_text(const char *text, char *buffer, unsigned int size) {
    if (buffer == NULL) return E_INVALID_ARGUMENT;
    size_t length = strlen(text);
    if (length >= size) return E_INSUFFICIENT_SIZE;
    memcpy(buffer, text, length + 1);
    return OK;
}

nvmlReturn_t read_text(unsigned int gpu, unsigned int field, char *buffer, unsigned int size) {
    fn_Text text;
    nvmlReturn_t rc = map_snapshot(fn_current(),
                                   offsetof(fn_State, gpus) + gpu * sizeof(fn_Gpu) + offsetof(fn_Gpu, strings) +
                                       field * sizeof(fn_Text),
                                   &text, sizeof(text));
    if (rc == OK) rc = text.rc;
    text.text[STRING_SIZE - 1] = 0;
    return rc == OK ? copy_text(text.text, buffer, size) : rc;
}

nvmlReturn_t read_gpu(unsigned int gpu, fn_Gpu *out) {
    if (gpu >= MAX_GPUS) return E_INVALID_ARGUMENT;
    return map_snapshot(fn_current(), offsetof(fn_State, gpus) + gpu * sizeof(fn_Gpu), out, sizeof(*out));
}

nvmlReturn_t node_value(size_t offset, void *out, size_t size) { return map_snapshot(fn_current(), offset, out, size); }

nvmlReturn_t fn_gone(uint64_t *gone) {
    nvmlReturn_t rc = node_value(offsetof(fn_State, removed), gone, sizeof(*gone));
    *gone = (rc == OK ? *gone : 0) | visible_hidden();
    return rc;
}

bool fn_removed(unsigned int gpu) {
    uint64_t gone = 0;
    (void)fn_gone(&gone);
    return (gone >> (gpu & 63) & 1) != 0;
}
