/**
 * The icon of servers without one: 64 × 64 pixels, a grey square with a lighter frame.
 *
 * @module
 */
export const DEFAULT_ICON: Uint8Array<ArrayBuffer> = Uint8Array.fromBase64(
  "iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAQMAAACQp+OdAAAABlBMVEVaWlqMjIxFdlBaAAAAGklEQVR4" +
    "2mP4DwUMeBgfGMCAf5QxshhEpA0AL213ieaMyXsAAAAASUVORK5CYII=",
);
