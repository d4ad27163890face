/** Covers src/fleet/simulate/slp/. */
import { assert, assertEquals } from "@std/assert";
import { concat } from "../../../../src/core/bytes.ts";
import { formatSections, parseFormatted } from "../../../../src/core/formatted/mod.ts";
import { drawIdentity } from "../../../../src/fleet/simulate/server_identity.ts";
import { Random } from "../../../../src/fleet/random.ts";
import { answerSlp } from "../../../../src/fleet/simulate/slp/slp_replies.ts";
import { normalMotd } from "../../../../src/fleet/simulate/slp/status_shape.ts";
import { SLP_STYLES } from "../../../../src/fleet/simulate/slp/slp_styles.ts";
import * as slp from "../../../../src/protocols/slp/mod.ts";

const IDENTITY = drawIdentity(new Random(1));
const REQUEST = slp.encodeStatusRequest({ protocol: -1, host: "a", port: 1 });

const response = (name: string, received: Uint8Array) =>
  answerSlp(SLP_STYLES[name], IDENTITY, received);
/** Reads the version and protocol number of a status. */
function version(name: string, protocol: number): [string, number] {
  const request = slp.encodeStatusRequest({ protocol, host: "a", port: 1 });
  const { json } = slp.decodeStatusResponse(response(name, request)!.reply)!;
  const printed = JSON.parse(new TextDecoder().decode(json)).version;
  return [printed.name, printed.protocol];
}

Deno.test("a request is processed when complete, and later bytes are kept", () => {
  for (let size = 1; size < REQUEST.length; size++) {
    assertEquals(response("vanilla", REQUEST.slice(0, size)), undefined);
  }
  const ping = slp.encodeSlpPing(7n);
  const { used, close } = response("vanilla", concat(REQUEST, ping))!;
  assertEquals([used, close], [REQUEST.length, false]);
  assertEquals(response("vanilla", concat(ping, [1])), {
    used: ping.length,
    reply: ping,
    close: true,
  });
});

Deno.test("a malformed request closes the connection", () => {
  const login = Uint8Array.fromHex("0800fd050161000102");
  for (const bytes of [login, new Uint8Array(9), slp.encodeFrame(0, [1, 9])]) {
    assertEquals(response("vanilla", bytes), {
      used: bytes.length,
      reply: new Uint8Array(),
      close: true,
    });
  }
});

Deno.test("proxies repeat a supported protocol number, and send their highest number otherwise", () => {
  assertEquals([-1, 47, 9999].map((protocol) => version("velocity", protocol)), [
    ["Velocity 1.7.2-1.21.4", 769],
    ["Velocity 1.7.2-1.21.4", 47],
    ["Velocity 1.7.2-1.21.4", 769],
  ]);
  assertEquals(version("vanilla", 47), [IDENTITY.version, IDENTITY.protocol]);
});

Deno.test("the reply to a legacy ping depends on its first bytes", () => {
  const form = (name: string, bytes: Uint8Array) => {
    const reply = response(name, bytes)?.reply;
    return reply && slp.decodeLegacyReply(reply)?.status?.form;
  };
  const ping = slp.encodeLegacyPing({ data: { protocol: 74, host: "a", port: 1 } });
  for (const name of ["vanilla", "java14"]) {
    assertEquals(form(name, Uint8Array.of(0xfe)), "beta");
    assertEquals([form(name, Uint8Array.of(0xfe, 1)), form(name, ping)], ["1.4", "1.4"]);
    // An incomplete 1.6 ping gets no reply, and neither does a ping with a wrong length.
    assertEquals(response(name, ping.slice(0, 9)), undefined);
    assertEquals(
      response(name, Uint8Array.from(ping, (byte, i) => i === 28 ? 99 : byte)),
      undefined,
    );
  }
  assertEquals([form("beta18", Uint8Array.of(0xfe, 1)), form("beta18", ping)], ["beta", "beta"]);
  assertEquals(response("disconnects", ping)?.reply.length, 0);
});

Deno.test("a legacy ping and a status request get equal information", () => {
  const legacy = (name: string) => {
    const { reply } = response(name, slp.encodeLegacyPing({ data: "01" }))!;
    const { version, protocol, motd, online, max } = slp.decodeLegacyReply(reply)!.status!;
    return { version, protocol, motd, online, max };
  };
  const { version: release, online, max } = IDENTITY;
  const versions = {
    vanilla: [release, 127],
    paper: [`Paper ${release}`, 127],
    forge112: ["1.12.2", 127],
    velocity: ["Velocity 1.7.2-1.21.4", 769],
    componentMotd: [release, 127],
    translateMotd: [release, 127],
  };
  for (const [name, [version, protocol]] of Object.entries(versions)) {
    const { motd } = SLP_STYLES[name].truth(IDENTITY).columns;
    assertEquals<unknown>(legacy(name), { version, protocol, motd, online, max }, name);
  }
});

Deno.test("the fleet's normalised MOTDs equal those of the scanner", () => {
  const random = new Random(3);
  const pieces = ["§a", "§6", "§k", "§l", "§r", "§x", "§u", "a", "b ", "c"];
  let coded = 0;
  for (let i = 0; i < 3000; i++) {
    const text = Array.from({ length: random.below(9) }, () => random.pick(pieces)).join("");
    const normal = formatSections(parseFormatted(text));
    assertEquals(normalMotd(text), normal, text);
    if (normal.includes("§")) coded++;
  }
  assert(coded > 1000, String(coded));
});
