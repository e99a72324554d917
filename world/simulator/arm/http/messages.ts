/** A request and a response inside the emulator. Must not know sockets. */
import type { Json } from './json.ts';

/** The caller. Foreign principals are other writers; the write-safety rules do not apply to them. */
export interface Principal {
  readonly clientId: string;
  readonly foreign: boolean;
}

export interface ArmRequest {
  readonly seq: number;
  /** The request and its repetition count. Random draws depend on it, so concurrent requests do not shift each other's draws. */
  readonly occasion: string;
  readonly method: string;
  readonly path: string;
  /** Captured path segments, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** Query by lower-case name, decoded. */
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The parsed body; undefined if the body is empty. */
  readonly body: Json | undefined;
  /** Scheme and host as the client wrote them. */
  readonly base: string;
  readonly principal: Principal;
}

/** Facts about a request that the journal records beside its status. */
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
  /** Number of VMs touched. */
  readonly charge?: number;
  /** VMs that a removal names, with the client's names. */
  readonly machines?: readonly string[];
  /** A removal that does not wait for the operating systems to shut down. */
  readonly forced?: boolean;
  /** What the emulator does not support, above all an unknown route. It must not pass unnoticed. */
  readonly loud?: string;
}

export interface ArmReply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** undefined: an empty body. */
  readonly body?: Json | undefined;
  /** The body is laid out over lines that end with CR and LF. */
  readonly indented?: true;
  readonly trace?: Trace;
}

/** A captured segment that is part of the route's template. */
export function param(request: ArmRequest, name: string): string {
  return request.params[name] ?? '';
}
