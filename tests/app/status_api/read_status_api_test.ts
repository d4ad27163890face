/** Covers src/app/status_api/read_status_api.ts. */
import { assertEquals, assertRejects } from "@std/assert";
import { freshSettings, readStatusApi } from "../../../src/app/status_api/read_status_api.ts";
import { InputError } from "../../../src/core/errors.ts";
import { parseAddress } from "../../../src/core/address.ts";
import { readCommandLine } from "../../cli/command_line.ts";

const optionsOf = (line: string) =>
  readCommandLine("serve", ["servers.db", ...line === "" ? [] : line.split(" ")]).options;
const OPEN = "--status-api open --i-have-permission --contact abuse@example.org";

Deno.test("the mode and its options", async () => {
  const read = (line: string) => readStatusApi(optionsOf(line));
  assertEquals(await read(""), undefined);
  const database = { mode: "database", hasNames: false, contact: undefined };
  assertEquals(await read("--status-api database"), database as never);
  const list =
    "--public https://servers.example.org --contact abuse@example.org --trusted-proxy ::1";
  assertEquals(await read(list), undefined);
  assertEquals(await read(`${list} --status-api database`), database as never);
  assertEquals(
    await read(
      "--status-api allow --probe-allow mc.example.org --names --allow-private --trusted-proxy ::1",
    ),
    { mode: "allow", hasNames: true, contact: undefined },
  );
  assertEquals(await read(`${OPEN} --trusted-proxy 127.0.0.1,10.0.0.0/8 --exclude 192.0.2.0/24`), {
    mode: "open",
    hasNames: false,
    contact: "abuse@example.org",
  });
});

Deno.test("an option without the one that it needs is an error that names both", async () => {
  for (
    const [line, message] of [
      ["--names", "Cannot use --names without --status-api: pages have the names anyway"],
      ["--probe-allow a.example", "Cannot use --probe-allow without --status-api allow"],
      [
        "--status-api allow",
        "Cannot use --status-api allow without --probe-allow: name the servers that are probed for clients",
      ],
      [`${OPEN} --probe-allow a.example`, "Cannot use --probe-allow without --status-api allow"],
      [`${OPEN} --allow-private`, "Cannot use --allow-private without --status-api allow"],
      [
        "--status-api open --contact abuse@example.org",
        "Cannot use --status-api open without --i-have-permission: it probes any public address that a " +
        "client names, and their owners may object",
      ],
      ["--i-have-permission", "Cannot use --i-have-permission without --status-api open"],
      [
        "--status-api database --contact abuse@example.org",
        "Cannot use --contact without --status-api open or --public",
      ],
      [
        "--status-api database --trusted-proxy ::1",
        "Cannot use --trusted-proxy without --status-api allow or --status-api open or --public",
      ],
      [
        "--status-api database --exclude 192.0.2.1",
        "Cannot use --exclude without --status-api allow or --status-api open",
      ],
      [
        "--opt-out-file a",
        "Cannot use --opt-out-file without --status-api allow or --status-api open",
      ],
    ]
  ) {
    await assertRejects(() => readStatusApi(optionsOf(line)), InputError, message);
  }
});

Deno.test("exclusions may be names; the trusted proxies are networks", async () => {
  const resolve = () => Promise.resolve([parseAddress("192.0.2.9")!]);
  const options = optionsOf(`${OPEN} --exclude 192.0.2.0/30,mc.example.org`);
  const { targets, excluded } = await freshSettings("open", options, { resolve });
  assertEquals([targets, excluded.map(({ start }) => start)], [
    "public",
    ["192.0.2.0", "192.0.2.9"].map((text) => parseAddress(text)!),
  ]);
  const { message } = await assertRejects(
    () => Promise.resolve().then(() => optionsOf("--trusted-proxy proxy.example.org")),
    InputError,
  );
  assertEquals(
    message,
    'Cannot use --trusted-proxy "proxy.example.org": expected addresses and networks, for example ' +
      "127.0.0.1,192.0.2.0/24",
  );
});
