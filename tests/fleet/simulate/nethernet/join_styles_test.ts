/**
 * Covers src/fleet/simulate/nethernet/, src/fleet/simulate/network/certificate.ts and
 * src/fleet/simulate/network/tls_stream.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { placeServer } from "../../../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../../../src/fleet/simulate/open_fleet.ts";
import type { StreamAct } from "../../../../src/fleet/simulate/responder.ts";
import { nodeCrypto } from "../../../../src/core/node_modules.ts";
import { systemClock } from "../../../../src/net/clock.ts";
import { makeCertificate, pemOf } from "../../../../src/fleet/simulate/network/certificate.ts";

const REQUEST = "GET /v1/join HTTP/1.1\r\nHost: 127.113.0.1:19132\r\nUser-Agent: blocksweep\r\n" +
  "Accept: application/json\r\nConnection: close\r\n\r\n";
/** The start of a TLS 1.2 handshake. */
const HELLO = Uint8Array.fromHex("1603010200010001fc0303");
const PEER = { address: 0x7f000001, port: 40000 };
const ADDRESS = 0x7f710001;
const STATUS = {
  motd: { text: "Dedicated Server", plain: "Dedicated Server" },
  version: "1.26.52",
  protocol: 2193,
  level: "Bedrock level",
  online: 0,
  max: 10,
  gamemode: "Survival",
  guid: 8n, // bit 1 is 0: version 1.26.52
};

const place = (software: string) => placeServer(ADDRESS, software, STATUS, 1);

/** What a host does with bytes, as text: `|` is a close. */
function said(software: string, sent: string | Uint8Array, encrypted = false): string {
  const { streams } = place(software);
  const talk = (encrypted ? streams!.tls! : streams!).accept(PEER);
  const bytes = typeof sent === "string" ? new TextEncoder().encode(sent) : sent;
  return [...talk.opening, ...talk.receive(bytes)].map(textOf).join("");
}

function textOf(act: StreamAct): string {
  if (typeof act === "string") return "|";
  return "bytes" in act ? String.fromCharCode(...act.bytes) : "";
}

Deno.test("Bedrock Dedicated Server replies as in the captures of others", () => {
  const head = (size: number) =>
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" +
    `Content-Length: ${size}\r\nConnection: close\r\n\r\n`;
  const body = '{"name":"Dedicated Server","protocol":2193,"version":"1.26.52",' +
    '"level":"Bedrock level","players":0,"maxPlayers":10,"gameType":0}';
  assertEquals(body.length, 128);
  assertEquals(said("bdsNetherNet", REQUEST), `${head(128)}${body}|`);
  assertEquals(head(0).length, 89);
  assertEquals(said("bdsNetherNetHidden", REQUEST), `${head(0)}|`);
  assertEquals(said("bdsNetherNet", HELLO), "\x15\x03\x01\x00\x02\x02\x28|");
  assertEquals(place("bdsTransportRaknet").streams, undefined);
});

Deno.test("Cloudburst's library sends 15 members in its order, and keeps the connection if asked", () => {
  const reply = said("geyserBoth", REQUEST);
  const body = JSON.parse(reply.slice(reply.indexOf("\r\n\r\n"), -1));
  assertEquals(
    Object.keys(body).join(),
    "dataVersion,name,protocol,version,level,players,maxPlayers,gameType,editor,hardcore," +
      "onlineAuth,selfSignedAuth,nonce,transportLayer,connection",
  );
  assert(
    reply.endsWith("}|") && reply.includes(`\r\ncontent-length: ${
      reply.indexOf("}") + 1 -
      reply.indexOf("{")
    }\r\n`),
  );
  assertEquals([body.level, body.transportLayer, body.connection], ["World", 2, 4]);
  assert(said("geyserBoth", REQUEST.replace("close", "keep-alive")).endsWith("}"));
  assertEquals(said("geyserBoth", HELLO), "|");
  assert(said("netherNetKeepsOpen", REQUEST).endsWith("}"));
});

Deno.test("a port that wants TLS replies to a plain request as its software does", () => {
  const start = (software: string) => said(software, REQUEST).split("\r\n", 2).join(" ");
  assertEquals(start("cloudburstTls"), "HTTP/1.1 426 Upgrade Required upgrade: TLS/1.2, HTTP/1.1");
  assertEquals(
    start("altayTls"),
    "HTTP/1.1 308 Permanent Redirect Location: https://127.113.0.1:19132/v1/join",
  );
  assertEquals(start("goNetherNetTls"), "HTTP/1.1 400 Bad Request Content-Type: text/plain");
  assert(said("goNetherNetTls", REQUEST).includes("HTTPS"));
  assertEquals(start("netherNetTlsCloses"), "|");
  assertEquals(start("netherNetTlsAlerts"), "\x15\x03\x03\x00\x02\x02\x46|");
  assertEquals(start("cloudburstPlainAndTls").slice(0, 15), "HTTP/1.1 200 OK");
  for (const software of ["cloudburstTls", "altayTls", "goNetherNetTls", "netherNetTlsCloses"]) {
    assertEquals(said(software, REQUEST, true).slice(0, 15), "HTTP/1.1 200 OK");
  }
  assertEquals(said("pumpkinNetherNet", HELLO).slice(0, 12), "HTTP/1.1 400");
});

Deno.test("servers reply to GET /v1/join only, however it is divided", () => {
  const talk = place("bdsNetherNet").streams!.accept(PEER);
  const bytes = new TextEncoder().encode(REQUEST);
  for (const byte of bytes.subarray(0, -1)) assertEquals(talk.receive(Uint8Array.of(byte)), []);
  assertEquals(talk.receive(bytes.subarray(-1)).length, 2);
  const status = (line: string) => said("bdsNetherNet", REQUEST.replace("GET /v1/join", line));
  assertEquals(status("GET /v1/join?version=1.26.60&protocol=2225").slice(9, 12), "200");
  for (const line of ["GET /", "POST /v1/join/1", "GET /v1/joined"]) {
    assertEquals(status(line).slice(9, 12), "404", line);
  }
  assertEquals(said("bdsNetherNet", "\x10\0\xfd\x05"), "");
  assertEquals(said("geyserNetherNet", "\x10\0\xfd\x05"), "|");
  assertEquals(said("bdsNetherNet", "A".repeat(9000)), "|");
  assertEquals(said("bdsNetherNet", "nonsense\r\n\r\n"), "|");
});

Deno.test("the manifest contains what the dossier says about each member", () => {
  const { truth } = place("bdsNetherNet").entry;
  assertEquals(truth.nethernet.columns, {
    edition: "bedrock",
    name: "Dedicated Server",
    motd: "Dedicated Server",
    motd_plain: "Dedicated Server",
    version: "1.26.52",
    protocol_version: 2193,
    map: "Bedrock level",
    gamemode: "Survival",
    players_online: 0,
    players_max: 10,
  });
  assertEquals(Object.keys(place("nukkitMotBoth").entry.truth), ["raknet", "nethernet", "query"]);
  assertEquals(
    ["relayBoth", "bdsNetherNetHidden"].map((name) => place(name).entry.truth.nethernet.weak),
    [true, undefined],
  );
});

Deno.test("equal servers have equal certificates of their own", () => {
  const [a, b, c] = [1n, 1n, 2n ** 64n - 1n].map((serial) => makeCertificate("nethernet", serial));
  assertEquals(a, b);
  assert(a.sha256 !== c.sha256);
  for (const { der, key, sha256 } of [a, c]) {
    const { X509Certificate, createPrivateKey } = nodeCrypto();
    const read = new X509Certificate(pemOf("CERTIFICATE", der));
    assertEquals(read.fingerprint256.replaceAll(":", "").toLowerCase(), sha256);
    assertEquals([read.subject, read.issuer], ["CN=nethernet", "CN=nethernet"]);
    assert(read.verify(read.publicKey));
    assert(read.checkPrivateKey(createPrivateKey(pemOf("PRIVATE KEY", key))));
  }
});

/** Runs a command of the shell and returns its output, errors included. */
async function output(command: string, input = ""): Promise<string> {
  const args = ["-c", `printf '${input}' | ${command} 2>&1`];
  return new TextDecoder().decode((await new Deno.Command("sh", { args }).output()).stdout);
}

/** A test with a program of others, which is ignored without it. */
async function testWith(program: string, name: string, fn: () => Promise<void>): Promise<void> {
  if (await output(`command -v ${program}`) !== "") return Deno.test(name, fn);
  Deno.test({ name: `${name} (skipped: needs Debian's ${program})`, ignore: true, fn });
}

await testWith("curl", "curl reads servers, plain and over TLS", async () => {
  for (
    const [software, scheme] of [
      ["bdsNetherNet", "http"],
      ["cloudburstPlainAndTls", "http"],
      ["cloudburstPlainAndTls", "https"],
      ["netherNetTlsCloses", "https"],
      ["netherNetKeepsOpen", "http"],
    ]
  ) {
    const host = place(software);
    await using _fleet = await openFleet([host], { clock: systemClock, seed: 1 });
    const url = `${scheme}://127.113.0.1:19132/v1/join`;
    const text = await output(`curl -sk -m 20 ${url}`);
    assertEquals(JSON.parse(text).protocol, 2193, `${software}: ${text}`);
  }
});

await testWith(
  "openssl",
  "openssl completes a handshake, and gets the certificate of the manifest",
  async () => {
    const host = place("netherNetTlsAlerts");
    await using _fleet = await openFleet([host], { clock: systemClock, seed: 1 });
    const s_client = "timeout 20 openssl s_client -alpn h2,http/1.1 -connect 127.113.0.1:19132";
    for (const version of ["-tls1_2", "-tls1_3"]) {
      const text = await output(`${s_client} -ign_eof ${version}`, REQUEST);
      const [pem] = /-----BEGIN CERTIFICATE-----[^]*-----END CERTIFICATE-----/.exec(text)!;
      const { fingerprint256 } = new (nodeCrypto().X509Certificate)(pem);
      assertEquals(
        fingerprint256.replaceAll(":", "").toLowerCase(),
        host.entry.truth.nethernet.facts.certificate_sha256,
      );
      assert(text.includes("ALPN protocol: http/1.1"), text);
      assert(text.includes('"protocol":2193'), text);
    }
  },
);

await testWith("openssl", "openssl gets an alert from a server without TLS", async () => {
  await using _fleet = await openFleet([place("bdsNetherNet")], { clock: systemClock, seed: 1 });
  const text = await output("timeout 20 openssl s_client -connect 127.113.0.1:19132");
  assert(text.includes("handshake failure"), text);
});

Deno.test("a fleet closes encrypted connections at its end", async () => {
  let read: Promise<number | null>;
  let open: Deno.TcpConn;
  {
    await using fleet = await openFleet([place("netherNetTlsCloses")], {
      clock: systemClock,
      seed: 1,
    });
    open = await Deno.connect({ hostname: "127.113.0.1", port: 19132 });
    await open.write(HELLO);
    const buffer = new Uint8Array(9);
    read = open.read(buffer).catch(() => null);
    while (fleet.accepted === 0) await new Promise((resolve) => setTimeout(resolve));
  }
  assertEquals(await read, null);
  open.close();
});
