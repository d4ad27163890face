/**
 * Ethernet MAC addresses as text.
 *
 * @module
 */

/** Formats a MAC address: `02:00:00:00:00:01`. */
export function formatMac(mac: Uint8Array): string {
  return Array.from(mac, (byte) => byte.toString(16).padStart(2, "0")).join(":");
}

/** Reads `02:00:00:00:00:01` or `02-00-00-00-00-01`; `undefined` for other text. */
export function parseMac(text: string): Uint8Array | undefined {
  if (!/^[0-9a-f]{2}([:-])[0-9a-f]{2}(\1[0-9a-f]{2}){4}$/i.test(text)) return undefined;
  return Uint8Array.from(text.split(/[:-]/), (byte) => parseInt(byte, 16));
}
