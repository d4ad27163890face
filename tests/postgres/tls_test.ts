/** Encrypted connections to a PostgreSQL server. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../src/core/errors.ts";
import type { Database } from "../../src/store/database/database.ts";
import { parseDatabaseLocation } from "../../src/store/database_location.ts";
import { type ConnectionEnvironment, readStore } from "../../src/store/open_store.ts";
import { createTables } from "../../src/store/schema/create_tables.ts";
import { connect } from "../store/databases.ts";
import { startPostgres } from "./server.ts";

const around: ConnectionEnvironment = {
  resolve: (path) => path,
  password: () => Promise.resolve(undefined),
};

async function isEncrypted(database: Database): Promise<boolean> {
  const [{ ssl }] = await database.rows(
    "select case when ssl then 1 else 0 end as ssl from pg_stat_ssl where pid = pg_backend_pid()",
  );
  return ssl === 1;
}

/** Creates a self-signed certificate for these names, and its key, in a folder. */
async function certify(folder: string, name: string, names: string): Promise<string> {
  const [key, certificate] = [`${folder}/${name}.key`, `${folder}/${name}.crt`];
  const { code } = await new Deno.Command("openssl", {
    args: [
      ...["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"],
      ...["-keyout", key, "-out", certificate, "-addext", `subjectAltName=${names}`],
    ],
    stdout: "null",
    stderr: "null",
  }).output();
  assertEquals(code, 0);
  return certificate;
}

Deno.test("sslmode decides whether connections are encrypted, and which certificates are valid", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await using server = await startPostgres();
    const url = `${server.url}postgres`;
    {
      await using database = await connect(url);
      await createTables(database);
    }
    const open = (options: string) => readStore(parseDatabaseLocation(url + options)!, around);
    const encrypted = async (options: string) => {
      await using database = await open(options);
      return await isEncrypted(database);
    };
    const refused = (options: string) => assertRejects(() => open(options), InputError);
    assertEquals(await encrypted(""), false);
    assertEquals(await encrypted("?sslmode=disable"), false);
    assert((await refused("?sslmode=require")).message.includes("does not support SSL"));

    const good = await certify(folder, "good", "IP:127.0.0.1");
    await server.encrypt(good);
    assertEquals(await encrypted(""), true);
    assertEquals(await encrypted("?sslmode=prefer"), true);
    assertEquals(await encrypted("?sslmode=require"), true);
    assertEquals(await encrypted("?sslmode=disable"), false);
    assertEquals(await encrypted(`?sslmode=verify-full&sslrootcert=${good}`), true);
    assert((await refused("?sslmode=verify-full")).message.includes("self-signed"));
    const none = await refused(`?sslmode=verify-full&sslrootcert=${folder}/none`);
    assert(none.message.includes("the file of sslrootcert"), none.message);

    // A certificate with a valid signature, for another host.
    const other = await certify(folder, "other", "DNS:localhost,IP:127.0.0.2");
    await server.encrypt(other);
    const wrong = await refused(`?sslmode=verify-full&sslrootcert=${other}`);
    assert(/does not match|altnames/.test(wrong.message), wrong.message);
    assertEquals(await encrypted("?sslmode=require"), true);
    assertEquals(await encrypted(`?sslmode=verify-ca&sslrootcert=${other}`), true);
    const foreign = await refused(`?sslmode=verify-ca&sslrootcert=${good}`);
    assert(foreign.message.includes("self-signed"), foreign.message);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
