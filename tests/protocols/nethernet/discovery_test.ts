/**
 * Covers src/protocols/nethernet/discovery.ts,
 * src/protocols/nethernet/discovery_server_data.ts and
 * src/protocols/nethernet/discovery_statement.ts.
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { createCipheriv, createHmac } from "node:crypto";
import { concat, Malformed, Truncated } from "../../../src/core/bytes.ts";
import * as lan from "../../../src/protocols/lan/mod.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);

Deno.test("packets of every size survive encryption and decryption", () => {
  for (let size = 0; size < 40; size++) {
    const packet = {
      type: "message",
      sender: 1n,
      recipient: 2n,
      text: new Uint8Array(size),
    } as const;
    const sealed = lan.sealPacket(packet);
    assertEquals(sealed.length, 32 + 16 * (Math.floor((32 + size) / 16) + 1));
    assertEquals(lan.openPacket(sealed), { ...packet, flags: [] });
    sealed[31] ^= 1;
    assertEquals(lan.openPacket(sealed), undefined);
  }
});

Deno.test("bytes that are not encrypted are another message, at any size", () => {
  for (const size of [0, 16, 31, 32, 47, 48, 49, 64, 65_507]) {
    assertEquals(lan.openPacket(new Uint8Array(size)), undefined, `${size}`);
  }
});

Deno.test("a packet with invalid padding is rejected, even with a valid MAC", () => {
  const key = Uint8Array.fromHex(
    "eed4c37861936c6ebb91ab9d195c1b489de46362d3bb8e30d8aab08bf217e6f3",
  );
  const request = lan.encodeNethernetPacket({ type: "request", sender: 1n });
  const sealed = (padding: number, packet: Uint8Array) => {
    const cipher = createCipheriv("aes-256-ecb", key, null).setAutoPadding(false);
    const padded = concat(request, new Uint8Array(48 - request.length).fill(padding));
    const mac = createHmac("sha256", key).update(packet).digest();
    return concat(mac, cipher.update(padded), cipher.final());
  };
  // Trusting the padding would yield everything, nothing, or 17 bytes less.
  assertEquals(lan.openPacket(sealed(0, new Uint8Array())), undefined);
  const longer = concat(request, new Uint8Array(11).fill(17));
  assertEquals(lan.openPacket(sealed(17, longer)), undefined);
  const right = concat(request, new Uint8Array(12).fill(16));
  assertEquals(lan.openPacket(sealed(16, right))?.flags, ["lengthMismatch", "trailingBytes"]);
});

/** The missing fields of all prefixes of some bytes, each once. */
function missing(decode: (bytes: Uint8Array) => unknown, bytes: Uint8Array): string[] {
  const named = Array.from({ length: bytes.length }, (_, size) => {
    try {
      decode(bytes.subarray(0, size));
      return "";
    } catch (error) {
      assert(error instanceof Truncated);
      return error.what;
    }
  });
  return [...new Set(named)].filter((what) => what !== "");
}

Deno.test("a cut packet names the missing field", () => {
  const head = ["length", "id", "sender", "zeros"];
  const of = (packet: lan.NewPacket) =>
    missing(lan.decodeNethernetPacket, lan.encodeNethernetPacket(packet));
  assertEquals(of({ type: "request", sender: 1n }), head);
  const data = Uint8Array.of(1);
  assertEquals(of({ type: "response", sender: 1n, data }), [
    ...head,
    "length of the server data",
    "server data",
  ]);
  const message = { type: "message", sender: 1n, recipient: 2n, text: data } as const;
  assertEquals(of(message), [...head, "recipient", "text"]); // "length" is already in the list
  const part = lan.encodeNethernetPacket(message).subarray(0, 30);
  assertThrows(
    () => lan.decodeNethernetPacket(part),
    Truncated,
    "Cannot read length: 2 bytes are needed",
  );
});

Deno.test("hexadecimal text with half a byte is malformed", () => {
  const bytes = lan.encodeNethernetPacket({
    type: "response",
    sender: 1n,
    data: Uint8Array.of(1, 2),
  });
  bytes[20] = 3;
  assertThrows(
    () => lan.decodeNethernetPacket(bytes.subarray(0, 27)),
    Malformed,
    "not hexadecimal",
  );
});

const WORLD: lan.World = {
  version: 4,
  name: utf8("a"),
  level: utf8("b"),
  gamemode: 1,
  online: 2,
  max: 3,
  editor: true,
  hardcore: true,
  onlineAuth: null,
  selfSignedAuth: null,
  nonce: null,
  transport: null,
  connection: 0,
  protocol: null,
  gameVersion: null,
};

Deno.test("worlds are encoded with the fields of their version, and zero for unknown values", () => {
  const written = (version: 4 | 5 | 6 | 7) => lan.encodeServerData({ ...WORLD, version }).toHex();
  assertEquals(written(4), "0401610162020200000003000000" + "0101" + "0000");
  assertEquals(written(5), "0501610162020200000003000000" + "01010000" + "0000");
  assertEquals(written(6), "0601610162020200000003000000" + "01010000" + "00" + "0000");
  assertEquals(written(7), "070161" + "0000" + "0162" + "040602" + "01010000" + "00" + "00");
});

Deno.test("cut server data names the missing field", () => {
  const of = (version: 4 | 5 | 6 | 7) =>
    missing(
      lan.decodeServerData,
      lan.encodeServerData({ ...WORLD, version, nonce: utf8("n") }),
    );
  const [counts, flags] = [["game mode", "players", "slots"], ["editor", "hardcore"]];
  const accounts = ["online accounts", "self-signed accounts"];
  assertEquals(of(4), [
    "length of name",
    "name",
    "length of level",
    "level",
    ...counts,
    ...flags,
    "transport",
    "connection",
  ]);
  const names = ["name", "level", ...counts, ...flags, ...accounts];
  assertEquals(of(5), [...names, "transport", "connection"]);
  assertEquals(of(6), [...names, "nonce", "transport", "connection"]);
  assertEquals(of(7), [
    "name",
    "protocol",
    "game version",
    "level",
    "players",
    "slots",
    "game mode",
    ...flags,
    ...accounts,
    "nonce",
    "connection",
  ]);
});

Deno.test("unknown versions are flagged, and empty data is undefined", () => {
  for (const version of [0, 3, 8, 255]) {
    const data = { version, data: Uint8Array.of(1), flags: ["unknownVersion" as const] };
    assertEquals(lan.decodeServerData(Uint8Array.of(version, 1)), data);
  }
  assertEquals(lan.decodeServerData(new Uint8Array()), undefined);
});

Deno.test("numbers of all sizes survive encoding and decoding of server data", () => {
  for (const value of [0, 1, -1, 63, 64, -64, -65, 8191, 2 ** 31 - 1, -(2 ** 31)]) {
    const world = {
      ...WORLD,
      version: 7 as const,
      gamemode: value,
      online: value,
      protocol: value,
    };
    const read = lan.decodeServerData(lan.encodeServerData(world)) as lan.World;
    assertEquals([read.gamemode, read.online, read.protocol], [value, value, value]);
    const older = { ...WORLD, version: 5 as const, online: value };
    assertEquals(
      (lan.decodeServerData(lan.encodeServerData(older)) as lan.World).online,
      value,
    );
  }
});

Deno.test("a name of any length survives encoding and decoding, and a false length is an error", () => {
  for (const size of [0, 127, 128, 20_000]) {
    const world = { ...WORLD, version: 6 as const, name: new Uint8Array(size).fill(0x61) };
    const read = lan.decodeServerData(lan.encodeServerData(world)) as lan.World;
    assertEquals(read.name.length, size);
  }
  const claim = Uint8Array.of(6, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x61);
  const error = assertThrows(() => lan.decodeServerData(claim), Truncated);
  assertEquals([error.offset, error.needed, error.available], [6, 2 ** 32 - 1, 1]);
  const endless = new Uint8Array(1000).fill(0xff).with(0, 6);
  assertThrows(
    () => lan.decodeServerData(endless),
    Malformed,
    "more than 32 bits at offset 1",
  );
});

Deno.test("unknown values of a world are null in its statement", () => {
  const printed = (over: Partial<lan.World>) => {
    const data = { ...WORLD, ...over, flags: [] };
    return lan.discoveryStatement({
      networkId: 2n ** 64n - 1n,
      data,
      flags: ["lengthMismatch"],
    });
  };
  const { columns, flags, facts } = printed({ name: utf8(""), level: utf8(""), online: -1 });
  assertEquals([columns.name, columns.motd, columns.map, columns.version], Array(4).fill(null));
  assertEquals([columns.players_online, columns.players_max], [null, 3]);
  assertEquals([flags, facts.network_id], [
    ["lengthMismatch", "badNumber"],
    "18446744073709551615",
  ]);
  const gamemodes = [0, 1, 2, 9].map((gamemode) => printed({ gamemode }).columns.gamemode);
  assertEquals(gamemodes, ["Survival", "Creative", "Adventure", "9"]);
  const full = printed({ online: 0, max: 999_999_999 }).columns;
  assertEquals([full.players_online, full.players_max], [0, 999_999_999]);
  assertEquals(printed({ nonce: Uint8Array.of(0xff) }).facts.nonce, "\ufffd");
});

Deno.test("a world with malformed server data still yields a statement", () => {
  assertEquals(lan.discoveryStatement({ networkId: 7n, data: undefined, flags: ["x"] }), {
    columns: { edition: "bedrock" },
    flags: ["x", "statusMalformed"],
    facts: { network_id: "7" },
  });
});
