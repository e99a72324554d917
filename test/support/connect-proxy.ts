/** An HTTP proxy that opens tunnels and records where to. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';

export class ConnectProxy {
  /** `HOST:PORT` of each tunnel, in order. */
  readonly targets: string[] = [];
  /** The sign-in of each, if it sent one. */
  readonly credentials: (string | undefined)[] = [];
  /** If set, the status of every answer. */
  refuses: number | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket: Socket) => this.#keep(socket));
    server.on('connect', (request: IncomingMessage, client: Socket) => this.#tunnel(request, client));
  }

  static async start(): Promise<ConnectProxy> {
    const proxy = new ConnectProxy(createServer());
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    // Each side may end the other at any time.
    socket.on('error', () => undefined);
  }

  #tunnel({ url = '', headers }: IncomingMessage, client: Socket): void {
    this.targets.push(url);
    this.credentials.push(headers['proxy-authorization']);
    if (this.refuses !== undefined) return void client.end(`HTTP/1.1 ${this.refuses} Refused\r\n\r\n`);
    const [host = '', port = ''] = url.split(':');
    const server = connect(Number(port), host, () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      server.pipe(client);
      client.pipe(server);
    });
    this.#keep(server);
    client.once('close', () => server.destroy());
    server.once('close', () => client.destroy());
  }
}
