/** The network that `../engines.sh` creates for tests. */
import { requestNetlink } from "../../../src/net/linux/netlink/netlink_request.ts";
import { Libc } from "../../../src/net/linux/ffi/libc.ts";
import { encodeLinksRequest } from "../../../src/net/linux/netlink/rtnetlink.ts";
import type { FrameRoute } from "../../../src/net/linux/batch/frame_batch.ts";

/** The address of the near end. */
export const OURS = 0x0a4f0001;
/** The MAC of the gateway, which is the far end. */
export const GATEWAY = 0x0a4f00fe;

/** A route of frames to all addresses, from the near end to the far one. */
export const ROUTE: FrameRoute = {
  source: OURS,
  sourceMac: Uint8Array.of(2, 0, 0, 0, 0, 1),
  gatewayMac: Uint8Array.of(2, 0, 0, 0, 0, 0xfe),
  ranges: [{ start: 0, end: 2 ** 32 }],
  mtu: 1500,
};

/** The index of an interface. */
export function indexOf(name: string): number {
  using libc = new Libc();
  for (const reply of requestNetlink(libc, encodeLinksRequest())) {
    if (reply !== "done" && "link" in reply && reply.link.name === name) {
      return reply.link.index;
    }
  }
  throw new Error(`There is no ${name}: run tests/namespaces/engines.sh`);
}

/** Runs a system command, and returns its output. */
export async function system(command: string): Promise<string> {
  const [program, ...args] = command.split(" ");
  const { code, stdout, stderr } = await new Deno.Command(program, { args }).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  if (code !== 0) throw new Error(`${command}: ${decode(stderr)}`);
  return decode(stdout);
}

/** Number of frames of an interface, in the text of `/proc/net/dev`. */
export function framesOf(text: string, name: string, way: "received" | "sent"): number {
  const line = text.split("\n").find((one) => one.trimStart().startsWith(`${name}:`))!;
  return Number(line.split(":")[1].trim().split(/\s+/)[way === "received" ? 1 : 9]);
}
