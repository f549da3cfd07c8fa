import { connect, createServer, type Server, type Socket } from "node:net";

/** A statement that stores lines. Later uses on the same connection have only its name. */
const STORES_LINES = /insert into bonsai\.segments|bonsai_ship/;

/** Passes on connections to the server. It can cut one after its statement arrived and before its answer returns. */
export class CuttingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Commits that still are to be cut. */
  cuts = 0;
  /** Commits that were cut. */
  done = 0;

  private constructor(port: number) {
    this.#server = createServer((client) => {
      const server = connect(port, "127.0.0.1");
      for (const socket of [client, server]) {
        this.#sockets.add(socket);
        socket.on("error", () => {});
        socket.on("close", () => {
          this.#sockets.delete(socket);
          client.destroy();
          server.destroy();
        });
      }
      let isCut = false;
      client.on("data", (bytes) => {
        server.write(bytes);
        if (isCut || this.cuts === 0 || !STORES_LINES.test(bytes.toString("latin1"))) return;
        this.cuts -= 1;
        isCut = true;
      });
      server.on("data", (bytes) => {
        if (!isCut) return client.write(bytes);
        if (!client.destroyed) this.done += 1;
        client.destroy();
      });
    });
  }

  static async start(port: number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(port);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
