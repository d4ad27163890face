/**
 * Web servers on the port of Bedrock servers. A scanner must not report them.
 *
 * @module
 */
import { type HttpBehaviour, httpReply, type ReceivedRequest } from "../nethernet/http_host.ts";

/** A web server that replies to each request, and closes the connection. */
function web(
  status: string,
  headers: Readonly<Record<string, string>>,
  body: (request: ReceivedRequest) => string = () => "",
): HttpBehaviour {
  return {
    answer: (request) => {
      const text = body(request);
      const size = new TextEncoder().encode(text).length;
      const all = { ...headers, "Content-Length": size, Connection: "close" };
      return [{ bytes: httpReply(status, all, text) }, "close"];
    },
    hello: [{ bytes: httpReply("400 Bad Request", { Connection: "close" }) }, "close"],
    waits: true,
  };
}

const page = (title: string) => () =>
  `<!DOCTYPE html>\n<html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>\n`;
const NGINX = { Server: "nginx/1.26.2", Date: "Sat, 28 Nov 2026 12:00:00 GMT" };
const HTML = { "Content-Type": "text/html; charset=utf-8" };
const JSON_TYPE = { "Content-Type": "application/json" };

export const WEB_SERVERS: Readonly<Record<string, HttpBehaviour>> = {
  /** A page that is not found. */
  web404: web("404 Not Found", { ...NGINX, ...HTML }, page("404 Not Found")),
  /** A page. */
  webPage: web("200 OK", { ...NGINX, ...HTML }, page("Welcome to nginx!")),
  /** An application of one page, the same for each path. */
  webApplication: web(
    "200 OK",
    HTML,
    ({ target }) => `<!doctype html><div id="root" data-path="${target}"></div><script></script>\n`,
  ),
  /** An empty reply. */
  webEmpty: web("200 OK", NGINX),
  /** An empty reply with the type of JSON. It differs from that of a server by one header. */
  webEmptyJson: web("200 OK", { ...NGINX, ...JSON_TYPE }),
  /** A success without a body by definition. */
  webNoContent: {
    answer: () => [{ bytes: httpReply("204 No Content", NGINX) }, "close"],
  },
  /** A health check. */
  webHealth: web("200 OK", JSON_TYPE, () => '{"status":"ok"}'),
  /** A service that names itself and its version. */
  webService: web("200 OK", JSON_TYPE, () => '{"name":"join-api","version":"1.4.0","uptime":12}'),
  /** A list of servers, as an API may have it. */
  webList: web("200 OK", JSON_TYPE, () => '[{"name":"A","protocol":2193,"version":"1.26.52"}]'),
  /** A page that needs a password. */
  web401: web(
    "401 Unauthorized",
    { ...NGINX, "WWW-Authenticate": 'Basic realm="x"' },
    page("401 Authorization Required"),
  ),
  /** A redirect to the usual port of HTTPS. */
  webToHttps: {
    answer: ({ host, target }) => [
      {
        bytes: httpReply("301 Moved Permanently", {
          Location: `https://${host.replace(/:\d+$/, "")}${target}`,
          "Content-Length": 0,
        }),
      },
      "close",
    ],
  },
  /** An error of a store of files. */
  webStore: web(
    "403 Forbidden",
    { "Content-Type": "application/xml", Server: "AmazonS3" },
    () =>
      '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code>' +
      "<Message>Access Denied</Message></Error>",
  ),
  /** A proxy whose server is stopped. */
  web502: web("502 Bad Gateway", { ...NGINX, ...HTML }, page("502 Bad Gateway")),
};
