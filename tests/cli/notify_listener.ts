/** Prints the datagrams that a socket receives. The first line is printed when it listens. */
import { print } from "../../src/cli/term/console.ts";

const path = Deno.args[0].replace(/^@/, "\0");
const socket = Deno.listenDatagram({ transport: "unixpacket", path });
await print("listening");
for (;;) {
  const [bytes] = await socket.receive();
  await print(JSON.stringify(new TextDecoder().decode(bytes)));
}
