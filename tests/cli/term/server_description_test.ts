import { assert, assertEquals } from "@std/assert";
import { versionsWith } from "../../../src/classify/game_versions.ts";
import { describe } from "../../../src/cli/term/server_description.ts";
import { emptyRecord, type ServerRecord } from "../../../src/core/record.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";

const record = (over: Partial<ServerRecord>): ServerRecord => ({
  ...emptyRecord({ address: 0x7f000001, port: 25565 }, 0),
  name: "Hi you",
  motd: " §aHi§l\nyou\u001b[2J",
  edition: "java",
  ...over,
});

/** The line that names the server, without its heading. */
const name = (over: Partial<ServerRecord>, color: boolean) =>
  describe(record(over), color, PROTOCOLS, versionsWith).find((line) => line.includes("name"))
    ?.replace(
      color ? "  \u001b[2mname      \u001b[22m " : "  name       ",
      "",
    );

Deno.test("a server's name has the colours of its MOTD, and no other escape", () => {
  assertEquals(name({}, true), "\u001b[0;38;5;83mHi\u001b[0;1;38;5;83m you␛[2J\u001b[0m");
  assertEquals(
    name({ motd: "§la§mb", edition: "bedrock" }, true),
    [
      ...["\u001b[0;1ma", "\u001b[0;1;38;5;88mb", "\u001b[0m"],
    ].join(""),
  );
  assertEquals(name({ motd: null }, true), "Hi you");
});

Deno.test("the endpoint of a server is bold, and its protocols are not", () => {
  const [title] = describe(record({ protocols: ["slp"] }), true, PROTOCOLS, versionsWith);
  assert(title.startsWith("\u001b[1m127.0.0.1:25565\u001b[22m  slp"), JSON.stringify(title));
});

Deno.test("without colour a server's name is its plain text, and a server without a name has no such line", () => {
  assertEquals(name({}, false), "Hi you");
  assert(
    !describe(record({ name: null }), true, PROTOCOLS, versionsWith).some((line) =>
      line.includes("name")
    ),
  );
});

Deno.test("a version that is only known by its protocol number is named behind the number", () => {
  const version = (over: Partial<ServerRecord>) =>
    describe(record(over), false, PROTOCOLS, versionsWith)
      .find((line) => line.startsWith("  version"))?.slice(13);
  assertEquals(version({ protocol_version: 47 }), "protocol 47, which is 1.8 to 1.8.9");
  assertEquals(version({ protocol_version: 999_999 }), "protocol 999999");
  assertEquals(version({ version: "Paper", protocol_version: 47 }), "Paper (protocol 47)");
  assertEquals(
    version({ edition: "bedrock", protocol_version: 2225 }),
    "protocol 2225, which is 1.26.60",
  );
  assertEquals(version({ version: "1.2" }), "1.2");
  assertEquals(version({}), undefined);
});
