import { assert, assertEquals } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import {
  decodeField,
  decodeLatin1,
  decodeTextFile,
  decodeTextStream,
  decodeUtf8,
  encodeLatin1,
  harmlessText,
  oneLine,
  plainText,
} from "../../src/core/text.ts";

Deno.test("a line of a text file that is not UTF-8 is Windows-1252, in chunks of any size", async () => {
  const file = Uint8Array.from([
    ...utf8("ip;title\nä\n"),
    0x4d,
    0xfc,
    0x80,
    0x0a,
    ...utf8("ö€\n"),
    0xe4,
  ]);
  const text = "ip;title\nä\nMü€\nö€\nä";
  assertEquals(decodeTextFile(file), text);
  for (const size of [1, 3, file.length]) {
    const chunks = Array.from(
      { length: Math.ceil(file.length / size) },
      (_, i) => file.subarray(i * size, (i + 1) * size),
    );
    const parts = await Array.fromAsync(decodeTextStream(ReadableStream.from(chunks)));
    assertEquals(parts.join(""), text);
  }
});

Deno.test("a long line without an end is decoded in parts between characters", async () => {
  const part = utf8("ä€".repeat(1 << 20));
  const chunks = ReadableStream.from([part.subarray(0, -1), part.subarray(-1), part]);
  const parts = await Array.fromAsync(decodeTextStream(chunks));
  assertEquals(parts.length > 1 && parts.join("") === "ä€".repeat(1 << 21), true);
});

Deno.test("a text file is UTF-8, or UTF-16 with a byte order mark, in chunks of any size", async () => {
  const units = [...utf16("\ufeffä 10.0.0.7:1\r\n😀")];
  const swapped = units.map((_, i) => units[i ^ 1]);
  const files = [units, swapped, [...utf8("ä 10.0.0.7:1\r\n😀")], [
    ...utf8("\ufeffä 10.0.0.7:1\r\n😀"),
  ]];
  for (const file of files.map((one) => Uint8Array.from(one))) {
    assertEquals(decodeTextFile(file), "ä 10.0.0.7:1\r\n😀");
    for (const size of [1, 3, file.length]) {
      const chunks = ReadableStream.from(
        Array.from(
          { length: Math.ceil(file.length / size) },
          (_, i) => file.subarray(i * size, (i + 1) * size),
        ),
      );
      const parts = await Array.fromAsync(decodeTextStream(chunks));
      assertEquals(parts.join(""), "ä 10.0.0.7:1\r\n😀");
    }
  }
  assertEquals([decodeTextFile(utf8("")), decodeTextFile(utf8("a"))], ["", "a"]);
  assertEquals(
    (await Array.fromAsync(decodeTextStream(ReadableStream.from([utf8("a")])))).join(""),
    "a",
  );
});

/** A text as UTF-16, little-endian. */
function utf16(text: string): Uint8Array {
  const codes = Array.from({ length: text.length }, (_, i) => text.charCodeAt(i));
  return Uint8Array.from(codes.flatMap((code) => [code & 255, code >> 8]));
}

const utf8 = (text: string) => new TextEncoder().encode(text);

Deno.test("decodeField() decodes valid UTF-8, and other bytes as Latin-1", () => {
  assertEquals(decodeField(utf8("§a大人気")), "§a大人気");
  assertEquals(decodeField(encodeLatin1("§aFrère")), "§aFrère");
  assertEquals(decodeField(utf8("plain")), "plain");
  assertEquals(decodeField(Uint8Array.of(0xc3, 0x28)), "Ã(");
  assertEquals(decodeField(utf8("\ufeffx")), "\ufeffx"); // a BOM is ordinary text
});

Deno.test("decodeUtf8() flags invalid bytes", () => {
  assertEquals(decodeUtf8(Uint8Array.of(0x41, 0xff)), { text: "A\ufffd", badUtf8: true });
  assertEquals(decodeUtf8(utf8("§a")), { text: "§a", badUtf8: false });
  assertEquals(decodeUtf8(utf8("a\ufffd")), { text: "a\ufffd", badUtf8: false }); // unchanged
  assertEquals(decodeUtf8(Uint8Array.of(0xf0, 0x9f, 0x98)), { text: "\ufffd", badUtf8: true });
});

Deno.test("decodeUtf8() agrees with a decoder that throws", () => {
  const strict = new TextDecoder("utf-8", { fatal: true });
  const throws = (bytes: Uint8Array) => {
    try {
      strict.decode(bytes);
      return false;
    } catch {
      return true;
    }
  };
  const parts = fc.constantFrom(0x41, 0xa7, 0xc2, 0xef, 0xbf, 0xbd, 0xe4, 0xf0, 0x9f, 0x98);
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 12 }), (list) => {
      const bytes = Uint8Array.from(list);
      assertEquals(decodeUtf8(bytes).badUtf8, throws(bytes), bytes.toHex());
    }),
    { seed: 1, numRuns: 5000 },
  );
});

Deno.test("Latin-1 keeps every byte, for texts of any length", () => {
  const bytes = Uint8Array.from({ length: 70_000 }, (_, i) => i & 255);
  assertEquals(encodeLatin1(decodeLatin1(bytes)), bytes);
  assertEquals([...encodeLatin1("一A")], [0, 65]); // as Java's writeBytes
});

Deno.test("plainText() removes codes, controls and white space at the ends", () => {
  assertEquals(plainText("§l§aSky§r §xKing\u0007dom §"), "Sky King dom");
  assertEquals(plainText("§zHi §!there§\n§§a §😀you§"), "Hi there a you");
  assertEquals(plainText(" \t\n "), "");
  assertEquals(plainText("a\u202eb\u200bc"), "abc");
});

Deno.test("plainText() yields the same with and without characters to remove", () => {
  const common = fc.constantFrom(..." abcÀ-~»¡\u00ad˿\u0300\u0345\u202e\u009f\u00a0\t§§1");
  const unit = fc.oneof(
    { arbitrary: common, weight: 9 },
    fc.string({ unit: "binary", maxLength: 1 }),
  );
  let same = 0;
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 12 }), (text) => {
      const plain = plainText(text);
      assertEquals(plainText(`\u2060${text}`), plain); // WORD JOINER, which is removed
      same += plain === text ? 1 : 0;
    }),
    { seed: 2, numRuns: 20_000 },
  );
  assert(same > 1000 && same < 10_000, String(same));
});

Deno.test("harmlessText() leaves no character that moves a cursor or reorders a line", () => {
  assertEquals(harmlessText("\u001b[2J\r\n\u007f\u009b"), "␛[2J␍␊␡\ufffd");
  assertEquals(harmlessText("a\u202eb"), "a\ufffdb");
  assertEquals(oneLine("a\u0000b\u202e\u2028\u200d"), "a␀b\ufffd␤\u200d");
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      assertEquals(oneLine(`${text}\u2028`), `${oneLine(text)}\u2424`);
      const shown = harmlessText(text);
      assert(!/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(shown), JSON.stringify(shown));
    }),
    { seed: 1, numRuns: 2000 },
  );
});

Deno.test("invisible characters are removed from plain text, and shown on terminals", () => {
  for (
    const unseen of "\u00ad\u034f\u061c\u180e\u200b\u200d\u2060\ufeff\u{e0041}\u{e007f}\u{e0100}"
  ) {
    assertEquals(plainText(`a${unseen}b`), "ab", unseen.codePointAt(0)!.toString(16));
    assertEquals(harmlessText(`a${unseen}b`), "a\ufffdb", unseen.codePointAt(0)!.toString(16));
  }
  for (const blank of "\u2800\u3164\uffa0\u115f\u1160") {
    assertEquals(plainText(`${blank}a${blank}${blank}b`), "a b");
    assertEquals(harmlessText(`a${blank}b`), "a b");
  }
  // An emoji keeps one variation selector; elsewhere selectors are invisible.
  assertEquals([plainText("❤\ufe0f"), harmlessText("❤\ufe0f")], ["❤\ufe0f", "❤\ufe0f"]);
  assertEquals(harmlessText("❤\ufe0f\ufe0fa\ufe0e"), "❤\ufe0f\ufffda\ufffd");
  assertEquals([plainText("👨\u200d👩"), harmlessText("👨\u200d👩")], ["👨👩", "👨\ufffd👩"]);
});
