/**
 * PostgreSQL's file of passwords: `host:port:database:user:password` a line.
 *
 * @module
 */
import type { PostgresPlace } from "./postgres_url.ts";

/** The password for a place: of the first line that fits. */
export function passwordIn(text: string, place: PostgresPlace): string | undefined {
  const wanted = [place.host, String(place.port), place.database, place.user];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith("#")) continue;
    // A backslash takes the meaning from a colon and from itself.
    const fields = [...line.matchAll(/((?:[^:\\]|\\.)*)(?::|$)/g)].map(([, field]) => field);
    if (fields.length < 5) continue;
    const [password, ...rest] = [fields[4], ...fields.slice(0, 4)];
    const fits = rest.every((field, i) => field === "*" || plain(field) === wanted[i]);
    if (fits) return plain(password);
  }
  return undefined;
}

/** The line that such a file wants for a place, as far as it can be shown. */
export function lineFor({ host, port, database, user }: PostgresPlace): string {
  const fields = [host, String(port), database, user].map((field) =>
    field.replace(/[\\:]/g, "\\$&")
  );
  return [...fields, "PASSWORD"].join(":");
}

function plain(field: string): string {
  return field.replace(/\\(.)/g, "$1");
}
