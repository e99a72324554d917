/** An address that stays when the daemon behind it is another process: a port that a process has left may be taken by any other program. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface SteadyAddress {
  readonly url: string;
  readonly close: () => void;
}

/** @param target where the daemon listens now. undefined: there is none, and connections are closed at once. */
export async function steadyAddress(target: () => string | undefined): Promise<SteadyAddress> {
  const server = createServer((caller) => {
    const url = target();
    if (url === undefined) return caller.destroy();
    const { hostname, port } = new URL(url);
    join(caller, connect(Number(port), hostname));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => void server.close() };
}

/** Each ends with the other. */
function join(caller: Socket, daemon: Socket): void {
  caller.pipe(daemon).pipe(caller);
  for (const [one, other] of [
    [caller, daemon],
    [daemon, caller],
  ] as const)
    one.on('error', () => other.destroy()).on('close', () => other.destroy());
}
