/**
 * A filter on every request of clients to the world. A client may die between its request and the response. The request may then
 * have had its effect, although no process reads the response. The world cannot detect that, so the filter decides it.
 */
export interface RequestInfo {
  readonly side: 'arm' | 'cluster';
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
}

export interface RequestFilter {
  /** Called before a request has an effect. false: the request never arrives and gets no response. */
  admitsRequest(request: RequestInfo): boolean;
  /** Called after the effect of a request. false: the response is never sent. */
  sendsResponse(request: RequestInfo): boolean;
}

export const ALLOW_ALL: RequestFilter = { admitsRequest: () => true, sendsResponse: () => true };
