/** A request and an answer as the rooms of the emulator pass them; nothing here knows sockets. */
import type { Json } from './json.ts';

/** Who calls. Foreign principals are other writers: their deeds are not judged. */
export interface Principal {
  readonly clientId: string;
  readonly foreign: boolean;
}

export interface ArmRequest {
  readonly seq: number;
  /** What is asked, and how often it was asked: what chance draws by, so that requests that race each other do not shift it. */
  readonly occasion: string;
  readonly method: string;
  readonly path: string;
  /** Captured path segments, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** Query by lower-case name, decoded. */
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The parsed body; undefined when there is none. */
  readonly body: Json | undefined;
  /** Scheme and host as the client wrote them. */
  readonly base: string;
  readonly principal: Principal;
}

/** What the journal wants to know about a request beyond its status. */
export interface Trace {
  /** `If-Match` as sent. */
  readonly etagIn?: string;
  /** The resource's etag after the request. */
  readonly etagOut?: string;
  readonly capacityBefore?: number;
  readonly capacityAfter?: number;
  readonly opId?: string;
  /** Agent pool that the request concerns. */
  readonly pool?: string;
  /** Machines touched. */
  readonly charge?: number;
  /** Machines that a removal names, as the client names them. */
  readonly machines?: readonly string[];
  /** Of a removal: the client does not wait for its systems to shut down. */
  readonly forced?: boolean;
  /** What the emulator cannot do, above all a route that it does not know: that must not pass unnoticed. */
  readonly loud?: string;
}

export interface ArmReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** undefined: an empty body. */
  readonly body?: Json | undefined;
  readonly trace?: Trace;
}

/** A captured segment that the route's template promises. */
export function param(request: ArmRequest, name: string): string {
  return request.params[name] ?? '';
}
