/** Secrets that contain marks, and URLs that contain the secrets. */
import fc from "npm:fast-check@4.10.2";

const MARKS = ["Kq7xWv", "Zj3tRb", "Yd9mNc"];

/** Characters with and without a meaning in URLs, shells and messages. */
const junk = fc.array(
  fc.oneof(fc.constantFrom(...":/@?#%&=+ \\\"'[];,.-$<>()|`~\t\n\u00e9\u{1f600}"), fc.string()),
  { maxLength: 4 },
).map((parts) => parts.join(""));

/** A secret. If it is cut at any place, both parts contain a mark. */
export const secret = fc.tuple(junk, junk, junk).map(([a, b, c]) =>
  `${MARKS[0]}${a}${MARKS[1]}${b}${MARKS[2]}${c.replace(/[\s"]+$/, "")}`
);

/** The marks of a secret in a text. */
export function leaksOf(text: string): string[] {
  return MARKS.filter((mark) => text.toLowerCase().includes(mark.toLowerCase()));
}

/** URLs, and texts that were meant as URLs, with a secret: unchanged, and percent-encoded. */
export function urlsWith(secret: string, host = "h"): string[] {
  return [secret, encodeURIComponent(secret.toWellFormed())].flatMap((s) => [
    ...["postgres", "postgresql", "POSTGRES", " postgres", "mysql", "jdbc:postgresql"].flatMap(
      (scheme) => [
        `${scheme}://u:${s}@${host}/d`,
        `${scheme}://u:${s}@${host}`,
        `${scheme}://u:${s}@`,
        `${scheme}://:${s}@${host}/d`,
        `${scheme}://u:${s}@${host}:x/d?sslmode=allow`,
        `${scheme}://u@${host}/d?password=${s}`,
        `${scheme}://${host}/d?user=u&password=${s}&sslmode=require`,
        `${scheme}://u@${host}/d?${s}`,
        `${scheme}://u@${host}/d#${s}`,
      ],
    ),
    ...["postgres:", "postgres:/", "", "db "].map((start) => `${start}u:${s}@${host}/d`),
    ...[
      `postgres:${s}@${host}/d`,
      ...(s.includes("@") ? [] : [`postgres:u:${s}`]),
      `sqlite:postgres://u:${s}@${host}/d`,
    ],
    ...["https", "HTTP", " https", "wss"].flatMap((scheme) => [
      `${scheme}://${host}/${s}`,
      `${scheme}://u:${s}@${host}/`,
      `${scheme}://${s}@${host}/x`,
      `${scheme}://${host}:8080/services/${s}/x`,
      `${scheme}://${host}/a?token=${s}`,
      `${scheme}://${host}/?${s}`,
      `${scheme}://${host}/#${s}`,
    ]),
  ]);
}
