/** Ledger: see codec.ts. */
import { type Protocol, request } from "../../../../src/protocols/protocol.ts";
import { NO_USUAL_PORTS } from "../../../../src/protocols/usual_ports.ts";
import { decodeReply, REQUEST } from "./codec.ts";

/** A server's number of players and version. */
type LedgerStatus = readonly string[];

/** Ledger, an invented protocol over TCP. */
export const ledgerProtocol: Protocol<LedgerStatus> = {
  name: "ledger",
  finds: "servers that nobody runs, by their ledgers over TCP",
  helpNote: "Ledger is sent where you name it and its ports.",
  probeText: "Ledger requests over TCP",
  transport: "tcp",
  playerFacts: [],
  ports: NO_USUAL_PORTS,
  fillsFirst: ["players_online"],
  *exchange() {
    let text = "";
    const accept = (chunk: Uint8Array) => decodeReply(text += String.fromCharCode(...chunk));
    return yield* request(REQUEST, accept, { resend: false });
  },
  record: ([players, version]) => ({
    columns: { name: "a ledger", players_online: Number(players), version },
    flags: [],
    facts: { players },
  }),
};
