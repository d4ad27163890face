import { assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../../src/core/errors.ts";
import { listenOn, placeText } from "../../../src/app/http/listen.ts";

Deno.test("a port in use is an error that names the purpose and the place", () => {
  using listener = listenOn("serve tests", "127.0.0.1", 0);
  const { port } = listener.addr;
  assertThrows(
    () => listenOn("serve tests", "127.0.0.1", port),
    InputError,
    `Cannot serve tests on 127.0.0.1:${port}: `,
  );
  assertEquals([placeText("::1", 80), placeText("10.0.0.1", 80)], ["[::1]:80", "10.0.0.1:80"]);
});
