/** Frames of WebSocket connections as a server reads and writes them (RFC 6455, section 5). */

export const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface Frame {
  readonly opcode: number;
  readonly payload: Buffer;
}

/** A complete frame without a mask, as servers send it. */
export function frameOf(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head.writeUInt8(0x80 | opcode, 0);
  if (length < 126) head.writeUInt8(length, 1);
  else if (length < 65_536) {
    head.writeUInt8(126, 1);
    head.writeUInt16BE(length, 2);
  } else {
    head.writeUInt8(127, 1);
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  return Buffer.concat([head, payload]);
}

/** Cuts the bytes of a client into messages; fragments are joined. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);
  #begun: Frame | undefined;

  push(bytes: Buffer): readonly Frame[] {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    const messages: Frame[] = [];
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const message = this.#joined(next);
      if (message !== undefined) messages.push(message);
    }
    return messages;
  }

  #joined({ opcode, payload, isFinal }: Frame & { readonly isFinal: boolean }): Frame | undefined {
    // Control frames may come between fragments.
    if (opcode >= OPCODES.close) return { opcode, payload };
    const whole = { opcode: this.#begun?.opcode ?? opcode, payload: Buffer.concat([this.#begun?.payload ?? Buffer.alloc(0), payload]) };
    this.#begun = isFinal ? undefined : whole;
    return isFinal ? whole : undefined;
  }

  #next(): (Frame & { readonly isFinal: boolean }) | undefined {
    const bytes = this.#rest;
    if (bytes.length < 2) return undefined;
    const first = bytes.readUInt8(0);
    const size = sizeOf(bytes);
    if (size === undefined || bytes.length < size.payloadAt + size.length) return undefined;
    const masked = bytes.subarray(size.payloadAt, size.payloadAt + size.length);
    const { mask } = size;
    const payload = Buffer.from(masked.map((byte, at) => byte ^ (mask[at % 4] ?? 0)));
    this.#rest = bytes.subarray(size.payloadAt + size.length);
    return { opcode: first & 0x0f, payload, isFinal: (first & 0x80) !== 0 };
  }
}

/** undefined: the head of the frame is not complete yet. */
function sizeOf(bytes: Buffer): { readonly payloadAt: number; readonly length: number; readonly mask: Buffer } | undefined {
  const second = bytes.readUInt8(1);
  const short = second & 0x7f;
  const extra = short === 126 ? 2 : short === 127 ? 8 : 0;
  const isMasked = (second & 0x80) !== 0;
  const payloadAt = 2 + extra + (isMasked ? 4 : 0);
  if (bytes.length < payloadAt) return undefined;
  const length = extra === 2 ? bytes.readUInt16BE(2) : extra === 8 ? Number(bytes.readBigUInt64BE(2)) : short;
  return { payloadAt, length, mask: isMasked ? bytes.subarray(2 + extra, payloadAt) : Buffer.alloc(4) };
}
