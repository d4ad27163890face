/**
 * HTTP servers of the program.
 *
 * @module
 */
export { acceptsGzip } from "./accepts_gzip.ts";
export { hasBearerToken, isSameSecret, TOKEN_FORM } from "./bearer_token.ts";
export { clientAddress } from "./client_address.ts";
export type { HttpRequest } from "./http_request.ts";
export type { HttpResponse, HttpStatus } from "./http_response.ts";
export { HttpServer } from "./http_server.ts";
export { affordableConnections, listenOn, listenText } from "./listen.ts";
export { isLocal } from "./loopback_names.ts";
