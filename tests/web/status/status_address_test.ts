/** Tests of src/web/status/status_address.ts. */
import { assertEquals } from "@std/assert";
import { parseStatusAddress, statusQueryOf } from "../../../src/web/status/status_address.ts";

const v6 = (port?: number) => ({ host: "2001:db8::1", isName: false, port });

Deno.test("addresses of the status services are parsed with and without ports and brackets", () => {
  for (
    const [text, host, port] of [
      ["Play.Example.org", "play.example.org", undefined],
      ["play.example.org.", "play.example.org", undefined],
      ["play.example.org:25566", "play.example.org", 25566],
      ["my_server.example.org:1", "my_server.example.org", 1],
      ["müsli.example", "xn--msli-0ra.example", undefined],
      ["lobby", "lobby", undefined],
    ] as const
  ) assertEquals(parseStatusAddress(text), { host, isName: true, port }, text);
  for (const [text, port] of [["192.0.2.1", undefined], ["192.0.2.1:65535", 65535]] as const) {
    assertEquals(parseStatusAddress(text), { host: "192.0.2.1", isName: false, port }, text);
  }
  for (const text of ["2001:db8::1", "2001:DB8:0:0::1", "[2001:db8::1]"]) {
    assertEquals(parseStatusAddress(text), v6(), text);
  }
  for (const text of ["[2001:db8::1]:25566", "2001:db8::1:25566"]) {
    assertEquals(parseStatusAddress(text), v6(25566), text);
  }
  // Without brackets, up to four digits belong to the address.
  assertEquals(parseStatusAddress("2001:db8::1:9999")?.host, "2001:db8::1:9999");
  assertEquals(parseStatusAddress("1:2:3:4:5:6:7:8:9999"), {
    host: "1:2:3:4:5:6:7:8",
    isName: false,
    port: 9999,
  });
  assertEquals(parseStatusAddress("::ffff:192.0.2.1")?.host, "192.0.2.1");
});

Deno.test("other texts are no addresses", () => {
  for (
    const text of [
      ...["", ":", ":25565", "a b", "a..b", "-a.example", "a.example:", "a.example:0"],
      ...["a.example:65536", "a.example:1e3", "192.0.2.256", "192.0.2.1:0", "192.0.2.0/24"],
      ...["192.0.2.1-9", "[192.0.2.1]:1", "[2001:db8::1", "2001:db8::1]", "[2001:db8::1]:0"],
      ...["[2001:db8::1]:99999", "2001:db8::1:99999", "fe80::1%eth0", "[fe80::1%eth0]:1"],
      ...[
        "<script>",
        "a\0b",
        "../../etc/passwd",
        "http://a.example",
        "a.example/x",
        "\ud800.example",
      ],
      "a".repeat(254),
      "a.".repeat(10_000),
    ]
  ) assertEquals(parseStatusAddress(text), undefined, text.slice(0, 40));
});

Deno.test("SRV records are for names of Java servers without a port, or with the usual one", () => {
  const query = (text: string, edition: "java" | "bedrock") =>
    statusQueryOf(parseStatusAddress(text)!, edition);
  const shown = (text: string, edition: "java" | "bedrock") => {
    const { port, mayHaveService } = query(text, edition);
    return [port, mayHaveService];
  };
  assertEquals(shown("a.example", "java"), [25565, true]);
  assertEquals(shown("a.example:25565", "java"), [25565, true]);
  assertEquals(shown("a.example:25566", "java"), [25566, false]);
  assertEquals(shown("192.0.2.1", "java"), [25565, false]);
  assertEquals(shown("a.example", "bedrock"), [19132, false]);
  assertEquals(shown("2001:db8::1", "bedrock"), [19132, false]);
});
