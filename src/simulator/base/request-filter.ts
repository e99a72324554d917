/**
 * The door through which clients reach the world. A client may die between asking and hearing: what it asked has then happened
 * or not, and nobody is there for the answer. The world cannot tell, so who watches the door says it.
 */
export interface RequestInfo {
  readonly side: 'arm' | 'cluster';
  readonly method: string;
  /** Without the query. */
  readonly path: string;
}

export interface RequestFilter {
  /** Asked before a request has any effect. false: it never arrives, and is never answered. */
  admits(visitor: RequestInfo): boolean;
  /** Asked once the effect of a request is there. false: the answer is never sent. */
  answers(visitor: RequestInfo): boolean;
}

export const ALLOW_ALL: RequestFilter = { admits: () => true, answers: () => true };
