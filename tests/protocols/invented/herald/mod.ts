/** Herald: see codec.ts. */
import { type Protocol, request } from "../../../../src/protocols/protocol.ts";
import { decodeMessage, encodeMessage, hex, TOKEN_AT } from "./codec.ts";

/** A server's name and number of players. */
type HeraldStatus = readonly string[];

/** Herald, an invented protocol over UDP. */
export const heraldProtocol: Protocol<HeraldStatus> = {
  name: "herald",
  finds: "servers that nobody runs, by Herald challenges",
  probeText: "Herald challenges of 25 bytes",
  transport: "udp",
  playerFacts: [],
  ports: { 4: [7777], 6: [7777, 7778] },
  probe: {
    template: encodeMessage("getchallenge 00000000"),
    macMask: 0xffffffff,
    mayLackToken: false,
    tokenAt: TOKEN_AT,
    tokenText: true,
    read(datagram) {
      const words = decodeMessage(datagram, "challengeResponse");
      return words && { mac: Number.parseInt(words[1], 16) };
    },
    content: (datagram) => ({ known: decodeMessage(datagram, "challengeResponse")![0] }),
  },
  *exchange({ nonce, known }) {
    const token = hex(Number(nonce & 0xffffffffn));
    const challenge = known ?? (yield* request(
      encodeMessage(`getchallenge ${token}`),
      (datagram) => {
        const words = decodeMessage(datagram, "challengeResponse");
        return words?.[1] === token ? words[0] : undefined;
      },
      { resend: true },
    ));
    const accept = (datagram: Uint8Array) => decodeMessage(datagram, "statusResponse");
    return yield* request(encodeMessage(`getstatus ${challenge}`), accept, { resend: false });
  },
  record: ([name, players]) => ({
    columns: { name, players_online: /^\d{1,9}$/.test(players) ? Number(players) : null },
    flags: [],
    facts: { name },
  }),
};
