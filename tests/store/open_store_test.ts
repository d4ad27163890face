/** Covers src/store/database/postgres_url.ts and src/store/database_location.ts. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../src/core/errors.ts";
import { parseDatabaseLocation } from "../../src/store/database_location.ts";
import {
  parsePostgres,
  passfileLine,
  passwordFromPassfile,
} from "../../src/store/database/postgres_url.ts";

Deno.test("a URL contains server, database, user and an optional password", () => {
  assertEquals(parsePostgres("postgres://ann:s%3A%40%2F@db.example:6000/lists"), {
    host: "db.example",
    port: 6000,
    database: "lists",
    user: "ann",
    password: "s:@/",
    sslMode: "prefer",
    rootCertificate: undefined,
  });
  assertEquals(parsePostgres("postgresql://ann@[::1]/a%20b"), {
    host: "::1",
    port: 5432,
    database: "a b",
    user: "ann",
    password: undefined,
    sslMode: "prefer",
    rootCertificate: undefined,
  });
  const strict = parsePostgres("postgres://u@h/d?sslmode=verify-full&sslrootcert=%2Fa%20b.crt");
  assertEquals([strict.sslMode, strict.rootCertificate], ["verify-full", "/a b.crt"]);
  const socket = { host: "/run/pg", port: 5432, database: "d", user: "ann" };
  for (
    const [text, over] of [
      ["postgres://ann@%2Frun%2Fpg/d", {}],
      ["postgres:///d?host=/run/pg&user=ann", {}],
      ["postgres://ann@/d?host=%2Frun%2Fpg&port=6000", { port: 6000 }],
      ["postgresql://ann:p%2F@:6000/d?host=/run/pg", { port: 6000, password: "p/" }],
      ["postgres://bob@other:6000/d?host=/run/pg&port=5432&user=ann", {}],
    ] as const
  ) {
    const { host, port, database, user, password } = parsePostgres(text);
    const expected = { ...socket, password: undefined, ...over };
    assertEquals({ host, port, database, user, password }, expected, text);
  }
  const shown = parseDatabaseLocation("postgres:///d?host=/run/pg&user=ann")!.path;
  assertEquals(shown, "postgres:///d?host=/run/pg&user=ann");
  const location = parseDatabaseLocation("postgres://ann:secret@h/d")!;
  assertEquals([location.path, location.file, location.format.name], [
    "postgres://ann@h/d",
    "postgres://ann@h/d",
    "postgres",
  ]);
});

Deno.test("the error for an unusable URL contains the URL without its password", () => {
  for (
    const text of [
      "postgres://",
      "postgres:x",
      "postgres://u:secret@",
      "postgres://u:secret@h",
      "postgres://u:secret@h/",
      "postgres://:secret@h/d",
      "postgres://u:secret@h:x/d",
      "postgres://u:secret@h/d?sslmode=allow",
      "postgres://u:secret@h/d#x",
      "postgres://u:secret@h/d?x=1",
      "postgres://u:secret@h/d?sslrootcert=/x",
      "postgres://u:sec%ret%secret@h/d",
      "postgres://u:sec@secret:secret@h/%",
      "postgres://h/d",
      "postgres://u:secret@@h:p/d",
      "postgres://u:p/secret@h:y/d",
      "postgres://u:1/secret@h/d",
      "postgres://u:secret@/d",
      "postgres://u:secret@/d?host=",
      "postgres:///d?host=/run/pg",
      "postgres:///d?host=/run/pg&user=u&password=secret",
      "postgres:///d?host=/run/pg&user=u&port=x",
      "postgres://u:secret@h/d?port=65536",
    ]
  ) {
    const { message } = assertThrows(() => parseDatabaseLocation(text), InputError, "Cannot use ");
    assert(!message.includes("secret"), message);
  }
});

Deno.test("the first matching line of a password file counts, and its escapes are decoded", () => {
  const location = parsePostgres("postgres://u@h/d:1");
  const file = "# h:5432:*:u:comment\nh:1:*:*:port\nx:*:*:*:host\r\ntorn:line\n" +
    "h:5432:d\\:1:u:a\\:b\\\\c\n*:*:*:*:last";
  assertEquals(passwordFromPassfile(file, location), "a:b\\c");
  assertEquals(passwordFromPassfile(file, { ...location, user: "other" }), "last");
  assertEquals(passwordFromPassfile("h:5432:d\\:1:other:x\n", location), undefined);
  assertEquals(passwordFromPassfile("", location), undefined);
  assertEquals(passfileLine(location), "h:5432:d\\:1:u:PASSWORD");
  const odd = { ...location, user: "a\\b" };
  assertEquals(passwordFromPassfile(`h:5432:d\\:1:u:x\n${passfileLine(odd)}\n`, odd), "PASSWORD");
});
