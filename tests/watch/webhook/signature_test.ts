import { assertEquals } from "@std/assert";
import { signatureHeaders } from "../../../src/watch/webhook/signature.ts";

Deno.test("a request has the HMAC-SHA-256 of its timestamp and body", async () => {
  const body = new TextEncoder().encode('[{"name":"Hypixel é"}]');
  const headers = signatureHeaders("kéy", 1_800_000_000_999, body);
  const { subtle } = crypto;
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await subtle.importKey("raw", encoder.encode("kéy"), algorithm, false, ["sign"]);
  const signed = Uint8Array.of(...encoder.encode("1800000000."), ...body);
  const mac = new Uint8Array(await subtle.sign("HMAC", key, signed));
  assertEquals(headers, {
    "x-blocksweep-timestamp": "1800000000",
    "x-blocksweep-signature": `sha256=${mac.toHex()}`,
  });
});
