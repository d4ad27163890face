/** What only the portable engine has, on loopback. */
import { assertEquals, assertRejects } from "@std/assert";
import { openGroupSocket, openSocket } from "../../src/net/deno.ts";

const LOOPBACK = 0x7f000001;

Deno.test("sockets for a group share their port, and do without networks that are not there", async () => {
  const group = { address: 0xe000023c, interfaces: [LOOPBACK, 0x08080808], largest: 4 };
  await using free = openSocket({ address: 0, port: 0 });
  const { port } = free;
  await free[Symbol.asyncDispose]();
  await using first = await openGroupSocket({ ...group, port });
  await using second = await openGroupSocket({ ...group, port });
  const { promise, resolve } = Promise.withResolvers<string>();
  for (const socket of [first, second]) void socket.listen((datagram) => resolve(datagram.toHex()));
  await using sender = openSocket({ address: LOOPBACK, port: 0 });
  await sender.send(Uint8Array.of(1, 2, 3, 4, 5), { address: LOOPBACK, port });
  assertEquals(await promise, "01020304");
  await using alone = openSocket({ address: LOOPBACK, port: 0 });
  await assertRejects(
    () => openGroupSocket({ ...group, port: alone.port }),
    Deno.errors.AddrInUse,
  );
});

Deno.test("a missing permission is not a refusal of the system: it is thrown", async () => {
  await using socket = openSocket({ address: LOOPBACK, port: 0 });
  await assertRejects(
    () => socket.send(new Uint8Array(1), { address: 0x0a000001, port: 9 }),
    Deno.errors.NotCapable,
  );
});
