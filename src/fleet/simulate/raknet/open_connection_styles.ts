/**
 * The behaviour of each software for open connection requests, and what a correct scanner reads.
 * Expected values are written by hand, not produced by a decoder. They assume that a request of
 * 1,464 bytes arrives.
 *
 * @module
 */
import type { OpenConnectionStyle } from "./open_connection.ts";
import type { Truth } from "../../manifest.ts";

const open = (mtu: number, security: "none" | "cookie", protocol = 11): Truth => ({
  columns: { joinable: true, mtu, raknet_protocol: protocol },
  flags: [],
  facts: { security },
});

/** The behaviour of the original RakNet: MTUs up to 1,492, no cookie. */
const plain: OpenConnectionStyle = {
  protocols: [11],
  cookie: false,
  mtu: [576, 1492],
  truth: open(1492, "none"),
};

/** What a correct scanner reads from a server that responds to pings only. */
export const NO_CONNECTION: Truth = {
  columns: { joinable: false },
  flags: ["advertOnly"],
  facts: {},
};

/** Behaviour for open connection requests, by software. */
export const OPEN_CONNECTION_STYLES = {
  /** Bedrock Dedicated Server, and RakLib of 2024. */
  plain,
  /** go-raknet: a cookie, MTUs of 400 to 1,492, no reply after a wrong protocol version. */
  goRaknet: {
    protocols: [11],
    cookie: true,
    mtu: [400, 1492],
    ignoresAfterWrongProtocol: true,
    truth: open(1492, "cookie"),
  },
  /** CloudburstMC's Network, as in Geyser, Nukkit, PowerNukkitX and WaterdogPE. */
  cloudburst: {
    protocols: [11],
    cookie: true,
    mtu: [576, 1400],
    truth: open(1400, "cookie"),
  },
  /** jsp-raknet 2.2.0: only protocol 10, and MTUs up to 1,400. */
  jspRaknet: { ...plain, protocols: [10], mtu: [576, 1400], truth: open(1400, "none", 10) },
  /** raknet-node 0.5.0: protocols 10 and 11, and one MTU for all. */
  raknetNode: { ...plain, protocols: [10, 11], mtu: [1400, 1400], truth: open(1400, "none") },
  /** Pocket Edition of 2012. */
  pocket2012: { ...plain, protocols: [5], truth: open(1492, "none", 5) },
  /** RakNet 4.081, as in other games. */
  raknet4: { ...plain, protocols: [6], truth: open(1492, "none", 6) },
  /**
   * A full server. RakNet refuses only request 2, but the advertisement shows that all slots are
   * taken.
   */
  full: {
    ...plain,
    refusal: { to: "request2", reason: "noFreeConnections" },
    truth: {
      columns: { mtu: 1492, raknet_protocol: 11 },
      flags: ["full"],
      facts: { security: "none" },
    },
  },
  /** A server that has banned the scanner's address, and refuses request 1. */
  banned: {
    ...plain,
    refusal: { to: "request1", reason: "banned" },
    truth: { columns: { joinable: false }, flags: ["banned"], facts: {} },
  },
} satisfies Record<string, OpenConnectionStyle>;
