/** The connections of one client to one HTTPS server with a private CA. Works with every version of Node.js that the package supports. */
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { Agent, request } from 'node:https';

export interface HttpsRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body?: string;
  /** Ends the request and its response. */
  readonly signal?: AbortSignal;
}

/** Owns the sockets. */
export class HttpsConnections {
  readonly #server: string;
  readonly #agent: Agent;

  constructor(server: string, ca: string) {
    this.#server = server;
    this.#agent = new Agent({ ca, keepAlive: true });
  }

  /** Resolves with the head of the response. Rejects without one. */
  async send(given: HttpsRequest): Promise<IncomingMessage> {
    const first = await this.#try(given);
    if (!(first instanceof StaleConnection)) return first;
    const second = await this.#try(given);
    if (second instanceof StaleConnection) throw second.error;
    return second;
  }

  close(): void {
    this.#agent.destroy();
  }

  #try({ method, path, headers, body, signal }: HttpsRequest): Promise<IncomingMessage | StaleConnection> {
    // Node.js does not send it with the body of a DELETE by itself.
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    const options = { agent: this.#agent, method, headers: { ...headers, ...length }, ...(signal === undefined ? {} : { signal }) };
    return new Promise((resolve, reject) => {
      const sent = request(this.#server + path, options, resolve);
      // Also errors after the response began, which its reader gets as well.
      sent.on('error', (error: NodeJS.ErrnoException) => {
        if (sent.reusedSocket && error.code === 'ECONNRESET') resolve(new StaleConnection(error));
        else reject(error);
      });
      sent.end(body);
    });
  }
}

/** The server had closed an idle connection before the request arrived. */
class StaleConnection {
  readonly error: Error;

  constructor(error: Error) {
    this.error = error;
  }
}
