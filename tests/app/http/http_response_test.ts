import { assertEquals } from "@std/assert";
import { encodeChunk } from "../../../src/app/http/http_response.ts";

Deno.test("a chunk has its size in hexadecimal digits before its bytes, and a line break after them", () => {
  const text = (part: string) =>
    new TextDecoder().decode(encodeChunk(new TextEncoder().encode(part)));
  assertEquals(text("abc"), "3\r\nabc\r\n");
  assertEquals(text("x".repeat(300)), `12c\r\n${"x".repeat(300)}\r\n`);
});
