/** TLS connections to Debian's OpenSSL, with certificates that it makes: usual ones and odd ones. */
import { assert, assertEquals } from "@std/assert";
import { systemClock } from "../../src/net/clock.ts";
import { denoDialer } from "../../src/net/deno/tcp_dialer.ts";
import { STREAM_LIMITS, StreamLink } from "../../src/net/stream_link.ts";
import { Throttle } from "../../src/net/throttle.ts";
import { freePort } from "../fakes/free_port.ts";
import { debianTest, requireProgram } from "./debian.ts";

const OPENSSL = "/usr/bin/openssl";
const REQUEST = new TextEncoder().encode("GET /v1/join HTTP/1.1\r\n\r\n");
/** Limits that no server of these tests reaches, also on a slow machine. */
const LIMITS = { ...STREAM_LIMITS, connectMs: 60_000, firstByteMs: 60_000, totalMs: 60_000 };

/** Runs openssl in a folder, and returns the bytes that it printed. */
async function openssl(cwd: string, ...args: string[]): Promise<Uint8Array> {
  const command = new Deno.Command(OPENSSL, { args, cwd, stderr: "piped" });
  const { success, stdout, stderr } = await command.output();
  assert(success, new TextDecoder().decode(stderr));
  return stdout;
}

/** Makes a self-signed certificate in a folder; returns its SHA-256 as lower-case digits. */
async function makeCertificate(cwd: string, key: readonly string[], more: readonly string[] = []) {
  await openssl(cwd, "req", "-x509", "-nodes", "-subj", "/CN=test", "-days", "1", ...[
    ...["-newkey", ...key, "-keyout", "key.pem", "-out", "certificate.pem", ...more],
  ]);
  const der = await openssl(cwd, "x509", "-in", "certificate.pem", "-outform", "DER");
  const hash = await crypto.subtle.digest("SHA-256", Uint8Array.from(der));
  return { sha256: new Uint8Array(hash).toHex(), bytes: der.length };
}

/** Sends a request to `openssl s_server`. */
async function ask(cwd: string, options: readonly string[]) {
  const port = freePort();
  const child = new Deno.Command(OPENSSL, {
    args: [
      ...["s_server", "-accept", `127.0.0.1:${port}`, "-key", "key.pem"],
      ...["-cert", "certificate.pem", "-www", ...options],
    ],
    cwd,
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const printed = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let output = "";
  while (!output.includes("ACCEPT")) {
    const { value, done } = await printed.read();
    assert(!done, `the server ended: ${output}`);
    output += value;
  }
  const link = new StreamLink({ address: 0x7f000001, port }, {
    dialer: denoDialer(),
    throttle: new Throttle({ rate: undefined, netRate: undefined, hostRate: undefined }),
    clock: systemClock,
    limits: LIMITS,
    signal: new AbortController().signal,
  });
  try {
    let [certificate, text] = ["", ""];
    link.renew({ onCertificate: (sha256) => certificate = sha256 });
    await link.send(REQUEST);
    for (let bytes; (bytes = await link.next(Infinity)) !== undefined;) {
      text += new TextDecoder().decode(bytes);
    }
    return { certificate, text: text.slice(0, 6), end: link.end };
  } finally {
    await link[Symbol.asyncDispose]();
    child.kill("SIGKILL");
    await child.status;
    await printed.cancel();
  }
}

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  await requireProgram(OPENSSL);
  const folder = await Deno.makeTempDir({ prefix: "blocksweep-openssl-" });
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const EC = ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];

for (
  const [name, key, options] of [
    ["RSA 2048 and TLS 1.2", ["rsa:2048"], ["-tls1_2"]],
    ["RSA 2048 and TLS 1.3", ["rsa:2048"], ["-tls1_3"]],
    ["P-256 and TLS 1.2", EC, ["-tls1_2"]],
    ["P-256 and TLS 1.3", EC, ["-tls1_3"]],
  ] as const
) {
  debianTest(`a request over TLS reaches openssl with ${name}`, () =>
    inFolder(async (folder) => {
      const { sha256 } = await makeCertificate(folder, key);
      const reply = await ask(folder, options);
      assertEquals(reply, { certificate: sha256, text: "HTTP/1", end: "closed" });
    }));
}

debianTest(
  "TLS 1.1, a certificate of a megabyte and a client's certificate end with a name",
  () =>
    inFolder(async (folder) => {
      const { sha256 } = await makeCertificate(folder, EC);
      const old = await ask(folder, ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"]);
      assertEquals(old, { certificate: "", text: "", end: "noTls" });
      const demanding = await ask(folder, ["-tls1_3", "-Verify", "1"]);
      assertEquals(demanding, { certificate: sha256, text: "", end: "reset" });
      const names = Array.from({ length: 15_000 }, (_, i) => `DNS:${"a".repeat(60)}.${i}.example`);
      await Deno.writeTextFile(
        `${folder}/large.cnf`,
        `[req]\ndistinguished_name=name\nx509_extensions=more\n[name]\n[more]\n` +
          `subjectAltName=${names}\n`,
      );
      const large = await makeCertificate(folder, EC, ["-config", "large.cnf"]);
      assert(large.bytes > 1_000_000);
      const failed = await ask(folder, []);
      assertEquals(failed, { certificate: "", text: "", end: "noTls" });
    }),
);
