/** Covers src/protocols/raknet/. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import { concat, Malformed, Truncated } from "../../../src/core/bytes.ts";
import {
  CLIENT_GUID,
  decodeAdvertisement,
  decodeAdvertiseSystem,
  decodePing,
  decodePong,
  decodeRefusal,
  encodeAdvertiseSystem,
  encodePing,
  encodePong,
  encodeRefusal,
  joinFields,
  raknetProtocol,
  type RefusalReason,
  splitFields,
} from "../../../src/protocols/raknet/mod.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { motdAsSent, NoReply } from "../../../src/protocols/protocol.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);
const MAGIC = Uint8Array.fromHex("00ffff00fefefefefdfdfdfd12345678");

/** The decoded status of an advertisement. */
function read(text: string) {
  const status = decodeAdvertisement(utf8(text));
  assert(status !== undefined, text);
  return status;
}

Deno.test("fields are split at unescaped semicolons", () => {
  const split = (text: string) => splitFields(text).fields;
  assertEquals(split("a;b;c"), ["a", "b", "c"]);
  assertEquals(split(String.raw`a\;b;c`), ["a;b", "c"]);
  assertEquals(split(String.raw`a\\;b`), ["a\\", "b"]);
  assertEquals(split(String.raw`a\\\;b`), ["a\\;b"]);
  assertEquals(split(String.raw`a\b;c`), ["a\\b", "c"]);
  assertEquals(split("a\\"), ["a\\"]);
  assertEquals(splitFields(""), { fields: [""], terminated: false });
  assertEquals(splitFields(";"), { fields: [""], terminated: true });
  assertEquals(splitFields("a;;"), { fields: ["a", ""], terminated: true });
});

Deno.test("fields survive joining and splitting", () => {
  const field = fc.string({ unit: fc.constantFrom(..."ab;\\§ "), maxLength: 6 });
  fc.assert(
    fc.property(
      fc.array(field, { minLength: 1, maxLength: 5 }),
      fc.boolean(),
      (fields, terminated) => {
        // Without a final `;`, an empty last field looks like no field.
        if (!terminated && fields.length > 1 && fields.at(-1) === "") return;
        assertEquals(splitFields(joinFields({ fields, terminated })), { fields, terminated });
      },
    ),
    { seed: 1, numRuns: 3000 },
  );
});

Deno.test("advertisements of 3 to 14 fields are decoded, with null for missing fields", () => {
  const all = [
    "MCPE",
    "A",
    "766",
    "1.21.50",
    "3",
    "20",
    "99",
    "lvl",
    "Survival",
    "1",
    "19132",
    "19133",
    "0",
    "7",
  ];
  for (let count = 2; count <= 14; count++) {
    for (const terminated of [false, true]) {
      const status = read(all.slice(0, count).join(";") + (terminated ? ";" : ""));
      const at = <T>(index: number, value: T) => index < count ? value : null;
      assertEquals(status, {
        edition: "MCPE",
        motd: "A",
        protocol: at(2, 766),
        version: at(3, "1.21.50"),
        online: at(4, 3),
        max: at(5, 20),
        serverId: at(6, "99"),
        level: at(7, "lvl"),
        gamemode: at(8, "Survival"),
        portV4: at(10, 19132),
        portV6: at(11, 19133),
        unnamed: [...all.slice(9, Math.min(count, 10)), ...all.slice(12, count)],
        fieldCount: count,
        terminated,
        flags: [],
      });
    }
  }
});

Deno.test("a text of another game is not an advertisement", () => {
  for (const text of ["", "MCPE", "MCPEX;a", "xMCPE;a", "ARENA|1", "mcpe;a", "MCEE", "MCCPP"]) {
    assertEquals(decodeAdvertisement(utf8(text)), undefined, text);
  }
  assertEquals([read("MCPE;").motd, read("MCEE;x").edition, read("MCPE;").fieldCount], [
    "",
    "MCEE",
    1,
  ]);
});

Deno.test("Pocket hosts have a name, or are hidden", () => {
  assertEquals(read("MCCPP;Demo;Steve").motd, "Steve");
  assertEquals([read("MCCPP;MINECON;a;b").motd, read("MCCPP;Demo;Steve").unnamed], ["a;b", [
    "Demo",
  ]]);
  assertEquals([read("MCCPP;Demo;").flags, read("MCCPP;Demo").flags], [["hidden"], ["hidden"]]);
  const { edition: _, motd: __, unnamed: ___, fieldCount, terminated, flags, ...rest } = read(
    "MCCPP;Demo;Steve",
  );
  assertEquals([fieldCount, terminated, flags], [3, false, []]);
  const names = [
    "protocol",
    "version",
    "online",
    "max",
    "serverId",
    "level",
    "gamemode",
    "portV4",
    "portV6",
  ];
  assertEquals(rest as object, Object.fromEntries(names.map((name) => [name, null])));
});

Deno.test("invalid numbers are null, with one flag", () => {
  const status = read("MCPE;A;766;1.21;many;-5;1;l;m;1;x;70000");
  assertEquals([status.online, status.max, status.portV4, status.portV6], [null, null, null, null]);
  assertEquals(status.flags, ["levelSemicolon", "badNumber"]); // its mode may be "x"
  assertEquals(read("MCPE;A;-1;;0;0;").protocol, -1);
  assertEquals(read("MCPE;A;-2;;0;0;").flags, ["badNumber"]);
  assertEquals(read("MCPE;A;1234567890;;0;0;").flags, ["badNumber"]);
  assertEquals(read("MCPE;A;766;;;;").flags, []); // an empty value is not flagged
  const ports = (v4: string, v6: string) => {
    const { portV4, portV6 } = read(`MCPE;A;1;1;0;1;1;l;m;1;${v4};${v6};`);
    return [portV4, portV6];
  };
  assertEquals([ports("1", "65535"), ports("0", "65536")], [[1, 65535], [null, null]]);
});

Deno.test("a MOTD with semicolons is delimited by the numbers after it", () => {
  const motdOf = (text: string) => {
    const { motd, protocol, online, flags } = read(text);
    return [motd, protocol, online, flags];
  };
  assertEquals(motdOf("MCPE;a;b;766;1.21;3;20;1;l;m;"), ["a;b", 766, 3, ["motdSemicolon"]]);
  assertEquals(motdOf("MCPE;a;;b;766;1.21;3;20;"), ["a;;b", 766, 3, ["motdSemicolon"]]);
  assertEquals(motdOf("MCPE;a;b;766;1.21;3;20"), ["a;b", 766, 3, ["motdSemicolon"]]);
  // No place fits, so all fields are omitted.
  for (const fields of ["a;b;c;d;e;f;g;", "a;b", "a;b;766;x;3;y;"]) {
    assertEquals(motdOf(`MCPE;${fields}`), ["", null, null, ["motdSemicolon"]]);
  }
});

Deno.test("a backslash at the end of a MOTD need not be an escape", () => {
  const { motd, protocol, flags, fieldCount } = read(
    "MCPE;hello\\;766;1.21.50;0;10;1;l;m;1;2;3;0;0;",
  );
  assertEquals([motd, protocol, flags, fieldCount], ["hello\\", 766, ["motdSemicolon"], 14]);
  const both = read("MCPE;a;hello\\;766;1.21.50;0;10;1;l;");
  assertEquals([both.motd, both.protocol], ["a;hello\\", 766]);
});

Deno.test("invalid UTF-8 is replaced and flagged", () => {
  const status = decodeAdvertisement(concat(utf8("MCPE;"), [0xff], utf8(";766;1;0;1;")))!;
  assertEquals([status.motd, status.flags], ["\ufffd", ["badUtf8"]]);
});

const PONG = { advertise: false, time: 5n, guid: 9n };

Deno.test("the bytes after a pong's magic may be a text, a text with a wrong length, or another game's", () => {
  const payload = (...bytes: number[]) => {
    const { text, flags } = decodePong(concat(encodePong({ ...PONG, text: undefined }), bytes))!;
    return [text && [...text], flags];
  };
  assertEquals(payload(), [undefined, ["noAdvertisement"]]);
  assertEquals(payload(0, 0), [[], ["noAdvertisement"]]);
  assertEquals(payload(65), [[65], ["lengthMismatch"]]);
  assertEquals(payload(0, 2, 65, 66), [[65, 66], []]);
  assertEquals(payload(0, 1, 65, 66), [[0, 1, 65, 66], ["lengthMismatch"]]);
  assertEquals(payload(0, 9, 65, 66), [[0, 9, 65, 66], ["lengthMismatch"]]);
  for (const edition of ["MCPE;a", "MCEE;a", "MCCPP;a"]) {
    const text = [...utf8(edition)];
    assertEquals(payload(0, 99, ...text), [text, ["lengthMismatch"]]);
    assertEquals(payload(0, 5, ...text), [text.slice(0, 5), ["trailingBytes"]]);
  }
  assertEquals(decodePong(encodePong({ ...PONG, text: new Uint8Array(300) }))?.text?.length, 300);
});

Deno.test("pongs with id 0x1d or 32-bit times are decoded, and similar messages are not", () => {
  const pong = encodePong({ ...PONG, advertise: true, text: utf8("x") });
  assertEquals([pong[0], decodePong(pong)?.advertise], [0x1d, true]);
  assertEquals(decodePong(encodePong({ ...PONG, text: utf8("x") }))?.advertise, false);
  const time32 = concat([0x1c], [0, 0, 0, 5], [0, 0, 0, 0, 0, 0, 0, 9], MAGIC, [0, 1, 65]);
  const read = decodePong(time32)!;
  assertEquals([read.time, read.guid, [...read.text!], read.flags, read.advertise], [5n, 9n, [65], [
    "time32",
  ], false]);
  assertEquals(decodePong(concat([0x1d], time32.subarray(1)))?.advertise, true);
  // RakLib's 0x1d with a text and no magic.
  assertEquals(decodePong(concat([0x1d, 0, 40], utf8("x".repeat(40)))), undefined);
  const wrong = pong.slice();
  wrong[32] ^= 1;
  assertEquals(decodePong(wrong), undefined);
  wrong[0] = 0x1c;
  assertEquals(assertThrows(() => decodePong(wrong), Malformed).offset, 17);
  assertEquals(decodePong(Uint8Array.of(0x1b)), undefined);
  const short = assertThrows(() => decodePong(Uint8Array.of(0x1c)), Truncated);
  assertEquals([short.needed, short.available], [33, 1]);
});

Deno.test("pings with and without a GUID are decoded; any other bytes are another message", () => {
  assertEquals(encodePing({ openOnly: true, time: 1n, guid: 2n })[0], 2);
  assertEquals(decodePing(encodePing({ openOnly: true, time: 1n, guid: 2n })), {
    openOnly: true,
    time: 1n,
    guid: 2n,
  });
  assertEquals(
    decodePing(encodePing({ openOnly: false, time: 1n, guid: undefined }))?.guid,
    undefined,
  );
  const ping = encodePing({ openOnly: false, time: 1n, guid: 2n });
  assertEquals(decodePing(concat([3], ping.subarray(1))), undefined);
  assertEquals(decodePing(new Uint8Array(33).fill(1)), undefined); // no magic
  assertThrows(() => decodePing(ping.subarray(0, 8)), Truncated, "ping time");
  assertThrows(() => decodePing(ping.subarray(0, 30)), Truncated, "client GUID");
});

Deno.test("refusals are decoded by id, each with its reason", () => {
  const ids: [number, RefusalReason][] = [
    [0x11, "connectionAttemptFailed"],
    [0x12, "alreadyConnected"],
    [0x14, "noFreeConnections"],
    [0x17, "banned"],
    [0x19, "incompatibleProtocol"],
    [0x1a, "recentlyConnected"],
  ];
  for (const [id, reason] of ids) {
    const refusal = {
      reason,
      guid: 7n,
      protocol: reason === "incompatibleProtocol" ? 11 : undefined,
    };
    const bytes = encodeRefusal(refusal);
    assertEquals([bytes[0], decodeRefusal(bytes)], [id, refusal]);
    assertEquals(decodeRefusal(concat(bytes, [1, 2])), refusal); // later bytes are ignored
    assertThrows(
      () => decodeRefusal(bytes.subarray(0, bytes.length - 1)),
      Truncated,
      "server GUID",
    );
    assertThrows(() => decodeRefusal(bytes.subarray(0, 10)), Truncated, "magic");
    const noise = bytes.slice();
    noise[5] ^= 1;
    assertEquals(decodeRefusal(noise), undefined);
    assertEquals(decodeRefusal(noise.subarray(0, 10)), undefined);
  }
  assertEquals(decodeRefusal(Uint8Array.of(0x13)), undefined);
});

Deno.test("out-of-band advertisements are distinguished from other out-of-band data", () => {
  const bytes = encodeAdvertiseSystem({ guid: 7n, data: utf8("hello") });
  assertEquals(decodeAdvertiseSystem(bytes), { guid: 7n, data: utf8("hello") });
  const other = bytes.slice();
  other[25] = 0x1e;
  assertEquals(decodeAdvertiseSystem(other), undefined);
  other[25] = 0x1d;
  other[10] ^= 1;
  assertEquals(decodeAdvertiseSystem(other), undefined);
  assertEquals(decodeAdvertiseSystem(concat([0x0c], bytes.subarray(1))), undefined);
  for (const [size, what] of [[5, "sender GUID"], [20, "magic"], [25, "wrapped id"]] as const) {
    assertEquals(
      assertThrows(() => decodeAdvertiseSystem(bytes.subarray(0, size)), Truncated).what,
      what,
    );
  }
});

Deno.test("raknet has the expected name, pings with id 0x01, and accepts replies without a token", () => {
  assertEquals([raknetProtocol.name, raknetProtocol.transport], ["raknet", "udp"]);
  const probe = raknetProtocol.probe!;
  assertEquals([probe.template.length, probe.template[0], probe.mayLackToken], [33, 0x01, true]);
  assertEquals(probe.macMask, 0x7fffffff);
  assertEquals(CLIENT_GUID, 0x626c6f636b737770n);
  assertEquals(new TextDecoder().decode(probe.template.subarray(25)), "blockswp");
});

Deno.test("a pong to a probe is a status, marked as repeating the time", () => {
  const { status } = raknetProtocol.probe!.content!(
    encodePong({ ...PONG, text: utf8("MCPE;A;1;1;0;1;") }),
  );
  assert(status?.kind === "pong" && status.echoed && status.bedrock?.motd === "A");
  const empty = raknetProtocol.probe!.content!(encodePong({ ...PONG, text: undefined }))
    .status!;
  assertEquals(raknetProtocol.record(empty), {
    columns: { guid: "9" },
    flags: ["noAdvertisement"],
    facts: {},
  });
});

Deno.test("an exchange may resend its ping", () => {
  const context = {
    endpoint: { address: 1, port: 1 },
    nonce: 5n,
    exclusive: false,
    lastAttempt: true,
  };
  assertEquals((raknetProtocol.exchange(context).next().value as { resend: boolean }).resend, true);
});

Deno.test("another game's text is a fact, harmless and short", () => {
  const text = concat(utf8("\u001b[2J"), new Uint8Array(500).fill(0x41));
  const { status } = raknetProtocol.probe!.content!(encodePong({ ...PONG, text }));
  const { flags, facts } = raknetProtocol.record(status!);
  assertEquals([flags, facts.payload], [["otherGame"], `␛[2J${"A".repeat(196)}`]);
});

Deno.test("an opt-out marker counts in an omitted MOTD", () => {
  const twice = "766;1.21;0;10;5;lvl;Survival;767;1.21.60;1;20;6;w;Creative;1;19132;19133;";
  const text = utf8(`MCPE;§b§d§f§d§bHi;${twice}`);
  const { status } = raknetProtocol.probe!.content!(encodePong({ ...PONG, text }));
  const statement = raknetProtocol.record(status!);
  assertEquals([statement.columns.motd, statement.flags], [null, ["motdSemicolon"]]);
  assert(motdAsSent(statement).includes("§b§d§f§d§b"));
});

Deno.test("fields without an agreed meaning are bounded in the facts, and a flag reports it", () => {
  const text = utf8(`MCPE;A;766;1.21.50;0;10;1;l;Survival;1;19132;19133;${"0;".repeat(1000)}`);
  const { status } = raknetProtocol.probe!.content!(encodePong({ ...PONG, text }));
  const { columns, flags, facts } = raknetProtocol.record(status!);
  assertEquals([(facts.unnamed as string[]).length, flags, columns.port_v4], [
    16,
    ["factsCut"],
    19132,
  ]);
});

Deno.test("protocols are listed in the order of their passes", () => {
  assertEquals(PROTOCOLS.map(({ name }) => name), ["raknet", "nethernet", "slp", "query", "sqp"]);
  assertEquals(new NoReply().name, "NoReply");
});
