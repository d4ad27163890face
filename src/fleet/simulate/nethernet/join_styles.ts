/**
 * NetherNet over HTTP by software: replies to `GET /v1/join`, plain and over TLS.
 *
 * Sources: captures of Bedrock Dedicated Server 1.26.50 to 1.26.60 by others, and the code of
 * CloudburstMC/Network, df-mc/go-nethernet and axolotl-pm/NetherNet.
 *
 * @module
 */
import type { Truth } from "../../manifest.ts";
import { type Certificate, makeCertificate } from "../network/certificate.ts";
import type { StreamAct } from "../responder.ts";
import type { SimulatedIdentity } from "../server_identity.ts";
import {
  type HttpBehaviour,
  HttpHost,
  httpReply,
  type ReceivedRequest,
  utf8Size,
} from "./http_host.ts";
import { fifteenMembers, type JoinBody, noStatus, SEVEN_MEMBERS } from "./join_bodies.ts";

/** The behaviour of a software over HTTP. */
export interface JoinStyle {
  readonly body: JoinBody;
  /** The headers and the end of a reply. */
  readonly server: "bds" | "cloudburst" | "go" | "axolotl" | "relay" | "keepsOpen";
  /** The reaction to a TLS handshake without TLS, and to any bytes that are no request. */
  readonly hello?: Omit<HttpBehaviour, "answer">;
  /**
   * What the host does with plain requests when it speaks TLS. Default: it speaks no TLS.
   * `answers`: it replies to them as to encrypted ones.
   */
  readonly tls?: Plain | "answers";
}

/** Reactions to a plain request on a port that wants TLS. */
type Plain = "closes" | "alerts" | "426" | "308" | "400";

const JSON_TYPE = "application/json";

/** An alert: handshake failure, in a record of TLS 1.0. */
export const HANDSHAKE_FAILURE = Uint8Array.fromHex("15030100020228");
/** An alert: protocol version, in a record of TLS 1.2. */
const PROTOCOL_VERSION = Uint8Array.fromHex("15030300020246");

const closing = (bytes: Uint8Array): readonly StreamAct[] => [{ bytes }, "close"];

/** Cloudburst, closed without a byte after a handshake. */
const CLOSES = { hello: ["close"] } as const;
/** BDS, whose HTTP server waits for the end of a head. */
const ALERTS = { hello: closing(HANDSHAKE_FAILURE), waits: true };
/** A server that takes a handshake for a bad request. */
const BAD_REQUEST = { hello: closing(httpReply("400 Bad Request", { Connection: "close" })) };

/** The headers of a reply with a status, in order. */
function headersOf(
  { server }: JoinStyle,
  size: number,
): Readonly<Record<string, string | number>> {
  switch (server) {
    case "bds":
      return { "Content-Type": JSON_TYPE, "Content-Length": size, Connection: "close" };
    case "go":
      return {
        ...size > 0 && { "Content-Type": JSON_TYPE },
        Date: "Sat, 28 Nov 2026 12:00:00 GMT",
        "Content-Length": size,
        Connection: "close",
      };
    case "relay":
      return { "Content-Type": "text/plain", "Content-Length": size };
    case "axolotl":
      return { "Content-Type": JSON_TYPE, "Content-Length": size };
    case "keepsOpen":
    case "cloudburst":
      return { "content-type": JSON_TYPE, "content-length": size };
  }
}

/** The reply with a status. Cloudburst's library keeps the connection if the client asks for that. */
function statusActs(
  style: JoinStyle,
  identity: SimulatedIdentity,
  closes: boolean,
): readonly StreamAct[] {
  const text = style.body.text(identity);
  const bytes = httpReply("200 OK", headersOf(style, utf8Size(text)), text);
  const keeps = style.server === "keepsOpen" || style.server === "cloudburst" && !closes;
  return keeps ? [{ bytes }] : closing(bytes);
}

const NOT_FOUND = httpReply("404 Not Found", { "Content-Length": 0, Connection: "close" });

/** Whether a request asks for the status. The newest clients add a query, which servers ignore. */
function isJoin({ method, target }: ReceivedRequest): boolean {
  return method === "GET" && /^\/v1\/join(?:\?|$)/.test(target);
}

/** The reply of a port that wants TLS to a plain request. */
function plainActs(kind: Plain, { host, target }: ReceivedRequest): readonly StreamAct[] {
  switch (kind) {
    case "closes":
      return ["close"];
    case "alerts":
      return closing(PROTOCOL_VERSION);
    case "426":
      return closing(
        httpReply("426 Upgrade Required", {
          upgrade: "TLS/1.2, HTTP/1.1",
          connection: "upgrade",
          "content-length": 0,
        }),
      );
    case "308":
      return closing(
        httpReply("308 Permanent Redirect", {
          Location: `https://${host}${target}`,
          "Content-Length": 0,
          Connection: "close",
        }),
      );
    case "400": {
      const text = "Client sent an HTTP request to an HTTPS server.\n";
      return closing(
        httpReply("400 Bad Request", { "Content-Type": "text/plain", Connection: "close" }, text),
      );
    }
  }
}

/** The certificate of a server: its own. */
function certificateOf({ guid }: SimulatedIdentity): Certificate {
  return makeCertificate("nethernet", guid);
}

/** The TCP side of a server. */
export function joinHost(style: JoinStyle, identity: SimulatedIdentity): HttpHost {
  const answer = (request: ReceivedRequest) =>
    isJoin(request) ? statusActs(style, identity, request.closes) : closing(NOT_FOUND);
  const { tls, hello } = style;
  if (tls === undefined) return new HttpHost({ answer, ...hello });
  const plain = tls === "answers" ? answer : (request: ReceivedRequest) => plainActs(tls, request);
  const certificate = certificateOf(identity);
  return new HttpHost({ answer: plain, ...hello, tls: { answer, certificate } });
}

/** What a correct scanner reads: the status, the headers, and the certificate if it has to use TLS. */
export function joinTruth(style: JoinStyle, identity: SimulatedIdentity): Truth {
  const { body } = style;
  const { columns, flags, facts } = body.truth(identity);
  const headers = headersOf(style, utf8Size(body.text(identity)));
  const tls = style.tls !== undefined && style.tls !== "answers";
  return {
    columns,
    flags,
    facts: {
      tls,
      ...(tls && { certificate_sha256: certificateOf(identity).sha256 }),
      headers: Object.keys(headers),
      ...facts,
    },
    ...(body.weak && { weak: true }),
  };
}

const semicolonToColon = ({ text, plain }: { readonly text: string; readonly plain: string }) => ({
  text: text.replaceAll(";", ":"),
  plain: plain.replaceAll(";", ":"),
});
/** Geyser with the status of its own configuration: one level, one more slot than players when full. */
const GEYSER = fifteenMembers({
  motd: semicolonToColon,
  level: "World",
  gamemode: "Survival",
  max: ({ online, max }) => Math.max(max, online + 1),
});
const WATERDOG = fifteenMembers({ level: "WaterdogPE" });

/** Behaviour over HTTP by software. */
export const JOIN_STYLES = {
  /** Bedrock Dedicated Server since 1.26.50: it has no certificate, and no setting for one. */
  bds: { body: SEVEN_MEMBERS, server: "bds", hello: ALERTS },
  /** The same with `enable-lan-visibility=false`: a head without a body. */
  bdsHidden: { body: noStatus("", ["hidesStatus"], false), server: "bds", hello: ALERTS },
  /** Bedrock Dedicated Server 1.26.30. */
  bdsOk: { body: noStatus("OK", ["emptyReply"], true), server: "bds", hello: ALERTS },
  /** Geyser, by the library of Cloudburst without a certificate. */
  geyser: { body: GEYSER, server: "cloudburst", hello: CLOSES },
  /** Nukkit-MOT, by the same library. */
  nukkitMot: { body: fifteenMembers(), server: "cloudburst", hello: CLOSES },
  /** A server that keeps the connection open, whatever the client asks. */
  keepsOpen: { body: fifteenMembers(), server: "keepsOpen", hello: CLOSES },
  /** A server that takes a handshake for a bad request. */
  pumpkin: { body: SEVEN_MEMBERS, server: "axolotl", hello: BAD_REQUEST },
  /** Cloudburst with a certificate: plain requests have to upgrade. */
  cloudburstTls: { body: WATERDOG, server: "cloudburst", tls: "426" },
  /** Cloudburst with a certificate that does not require TLS. */
  cloudburstBoth: { body: WATERDOG, server: "cloudburst", tls: "answers" },
  /** Altay with a certificate: a redirect to the same port. */
  altayTls: { body: fifteenMembers(), server: "axolotl", tls: "308" },
  /** go-nethernet with TLS: the standard server of Go. */
  goTls: { body: SEVEN_MEMBERS, server: "go", tls: "400" },
  /** TLS alone, by proxies that close plain connections, or send an alert on them. */
  tlsCloses: { body: SEVEN_MEMBERS, server: "bds", tls: "closes" },
  tlsAlerts: { body: SEVEN_MEMBERS, server: "bds", tls: "alerts" },
  /** A relay, or a server that is not ready: no status. */
  relay: { body: noStatus("", ["emptyReply"], true), server: "relay", hello: CLOSES },
  /** go-nethernet before it had a status. */
  goEmpty: { body: noStatus("", ["emptyReply"], true), server: "go", hello: BAD_REQUEST },
} satisfies Record<string, JoinStyle>;
