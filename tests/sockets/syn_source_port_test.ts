import { assert, assertEquals, assertThrows } from "@std/assert";
import { Libc } from "../../src/net/linux/ffi/libc.ts";
import { randomPorts, reservePort } from "../../src/net/linux/syn/source_port.ts";

const LOOPBACK = 0x7f000001;

Deno.test("random ports are outside of the system's range, and each such port is possible", () => {
  let n = 0;
  const evenly = () => n++ % 64 / 64 + 1 / 256;
  const chosen = new Set(randomPorts([32_768, 60_999], evenly));
  assertEquals([...chosen].pop(), 0);
  chosen.delete(0);
  assertEquals(chosen.size, 64);
  for (const port of chosen) {
    assert(port >= 10_000 && port < 32_768 || port >= 61_000 && port <= 65_535, `${port}`);
  }
  const ends = (range: [number, number]) =>
    [0, 1 - 2 ** -30].map((value) => randomPorts(range, () => value)[0]);
  assertEquals(ends([32_768, 60_999]), [10_000, 65_535]);
  assertEquals(ends([1024, 60_999]), [61_000, 65_535]);
  assertEquals(ends([9_000, 9_999]), [10_000, 65_535]);
  assertEquals(ends([32_768, 65_535]), [10_000, 32_767]);
  assertEquals(ends([10_000, 65_535]), [0, 0]);
});

Deno.test({
  name: "a reserved port is bound, and refuses connections",
  ignore: Deno.build.os !== "linux",
  async fn() {
    using libc = new Libc();
    const hostname = "127.0.0.1";
    let port: number;
    {
      using reserved = reservePort(libc, LOOPBACK);
      port = reserved.port;
      assert(port >= 10_000, `${port}`);
      assertThrows(() => Deno.listen({ port, hostname }), Deno.errors.AddrInUse);
      const refused = await Deno.connect({ port, hostname }).catch((error) => error);
      assert(refused instanceof Deno.errors.ConnectionRefused);
    }
    Deno.listen({ port, hostname }).close();
  },
});

Deno.test({
  name: "an address of another machine cannot be bound",
  ignore: Deno.build.os !== "linux",
  fn() {
    using libc = new Libc();
    assertThrows(() => reservePort(libc, 0xc0000201), Deno.errors.AddrNotAvailable);
  },
});
