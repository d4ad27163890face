import { assert, assertEquals } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import { redact, redactError, redactUrl } from "../../src/core/redact.ts";
import { leaksOf, secret, urlsWith } from "../fakes/secrets.ts";
import { longTest } from "../long.ts";

Deno.test("redactUrl() leaves no part of a secret, at any place of a URL and with any characters", () => {
  fc.assert(
    fc.property(secret, (text) => {
      for (const url of urlsWith(text)) assertEquals(leaksOf(redactUrl(url)), [], url);
    }),
    { seed: 4, numRuns: 3000 },
  );
});

longTest("redact() leaves no part of a secret in a message with a URL", () => {
  const messages = (url: string) => [
    `Cannot use "${url}": it has no host; expected postgres://USER@HOST/DATABASE`,
    `Cannot use --output "${url}" and "${url}"`,
    `error sending request for url (${url}): client error`,
    `x=${url}, and ${url}`,
  ];
  fc.assert(
    fc.property(secret, (text) => {
      for (const url of urlsWith(text)) {
        for (const message of messages(url)) {
          assertEquals(leaksOf(redact(message, [url])), [], message);
          // Without the known URL, only white space and quotes mark its end.
          if (!/[\s"]/.test(url)) assertEquals(leaksOf(redact(message)), [], message);
        }
        const error = new Error(`a ${url}`, { cause: new TypeError(`b ${url}`) });
        redactError(error, [url]);
        assertEquals(leaksOf(`${error.stack} ${(error.cause as Error).stack}`), []);
      }
    }),
    { seed: 5, numRuns: 60 },
  );
});

Deno.test("text without secrets stays unchanged", () => {
  const plain = [
    "servers.db",
    "sqlite:a b.db",
    "10.0.0.1:5",
    "[::1]:5",
    "C:\\a\\b.db",
    "a@b.db",
    "-",
    "postgres://u@h/d",
    "postgres://u@[::1]:5432/a%20b?sslmode=require&sslrootcert=%2Fa",
    "postgres:///d?host=/run/pg&port=5433&user=u",
    "https://example.org",
    "http://127.0.0.1:8080/",
    "npm:pg@8.23.1",
    "'npm:pg@8.23.1'",
    "(npm:pg@8.23.1):",
    "--import=npm:@nats-io/kv@3.4.0/mod.js:1:2",
    "jsr:@std/csv@^1.0.6",
    "file:///a@b/c.ts:1:2",
  ];
  for (const text of plain) {
    assertEquals(redactUrl(text), text);
    assertEquals(redact(`Cannot read "${text}": no`), `Cannot read "${text}": no`);
  }
});

Deno.test("the redacted text still identifies the URL", () => {
  const shown: readonly (readonly [string, string])[] = [
    ["POSTGRES://u:s@h:5/d", "POSTGRES://u@h:5/d"],
    ["postgresql://u:a:b@c@h/d", "postgresql://u@h/d"],
    ["postgres://u:a/b@h/d", "postgres://u@h/d"],
    ["postgres://u:a?b@h/d", "postgres://…"],
    ["postgres://u:s", "postgres://u:…"],
    ["postgres://u@h/d?password=s", "postgres://u@h/d?…"],
    ["postgres:u:s@h/d", "postgres:…@h/d"],
    ["postgres:u:s", "postgres:…"],
    ["postgres:5432", "postgres:5432"],
    ["sqlite:postgres://u:s@h/d", "sqlite:postgres://u@h/d"],
    ["mysql://u:s@h/d", "mysql://u@h/d"],
    ["host=h password='a b' user=u", "host=h password=… user=u"],
    ["https://u:s@h:8443/a?b#c", "https://h:8443/…"],
    ["https://h/?s", "https://h/…"],
    ["https://u:1/2@h/", "https://…"],
  ];
  for (const [url, expected] of shown) assertEquals(redactUrl(url), expected);
  assertEquals(redact('"postgres:u:s@h" (https://h/s) x'), '"postgres:…@h" (https://h/… x');
});

Deno.test("a URL with a port stays whole at the end of a part of a sentence", () => {
  for (const text of ["at nats://127.0.0.1:1, or", "(postgres://host:5432)", "nats://host:4222."]) {
    assertEquals(redact(text), text);
  }
  assertEquals(redact("nats://host:4222x."), "nats://host:…");
});

Deno.test("a long message is redacted in one pass", () => {
  for (const part of ["a", "a:", "a@", ":@", "://", "secret ", "secret=", " ", "'", "a://b:c@"]) {
    // a regular expression with two unbounded ends took hours
    assert(redact(part.repeat(200_000)).length > 0);
  }
});
