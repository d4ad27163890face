import { assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../../src/core/errors.ts";
import { affordableConnections, listenOn, listenText } from "../../../src/app/http/listen.ts";
import { freeDescriptors } from "../../../src/net/file_descriptors.ts";

Deno.test("a port in use is an error that names the purpose and the place", () => {
  using listener = listenOn("serve tests", "127.0.0.1", 0);
  const { port } = listener.addr;
  assertThrows(
    () => listenOn("serve tests", "127.0.0.1", port),
    InputError,
    `Cannot serve tests on 127.0.0.1:${port}: `,
  );
  assertEquals([listenText("::1", 80), listenText("10.0.0.1", 80)], ["[::1]:80", "10.0.0.1:80"]);
});

Deno.test("with enough descriptors a server may have all its connections open", () => {
  for (const hostname of ["127.0.0.1", "0.0.0.0"]) {
    using listener = listenOn("serve tests", hostname, 0);
    assertEquals(affordableConnections(listener, 32), 32);
  }
});

Deno.test("free descriptors are counted up to the first that cannot be opened", () => {
  const shortage = Object.assign(new Error("Too many open files"), { code: "EMFILE" });
  const used = Object.assign(new Error("Address already in use"), { code: "EADDRINUSE" });
  for (const [error, expected] of [[shortage, 3], [used, 8]] as const) {
    let open = 0;
    const counted = freeDescriptors(8, () => {
      if (open === 3) throw error;
      open++;
      return { [Symbol.dispose]: () => void open-- };
    });
    assertEquals([counted, open], [expected, 0]);
  }
});
