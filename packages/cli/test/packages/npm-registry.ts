import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type LoopbackReply, type LoopbackServer, loopbackServer } from "@bonsai-agent/testkit";
import { onTestFinished } from "vitest";
import { type Installation, installPackage } from "../../src/packages/install.ts";

/** A package as its author would publish it; `package.json` is made of the rest. */
export interface PackageFixture {
  name: string;
  version: string;
  /** By path. */
  files?: Readonly<Record<string, string>>;
  /** More of `package.json`. */
  manifest?: Readonly<Record<string, unknown>>;
}

export const NOW_MS = Date.UTC(2026, 10, 21, 2);

/** Installs into a home. Default: a new one. */
export function installer(env: Readonly<Record<string, string | undefined>>, home = testFolder()) {
  const install = (
    source: string,
    more: { signal?: AbortSignal; cwd?: string } = {},
  ): Promise<Installation> => installPackage({ home, source, cwd: home, env, now: () => NOW_MS, ...more });
  return { home, install };
}

/** An extension's package, of one module. */
export function extensionPackage(
  version: string,
  { name = "bonsai-notes", files = {}, manifest = {} }: Partial<PackageFixture> = {},
): PackageFixture {
  return {
    name,
    version,
    files: { "index.ts": "export default () => {};\n", ...files },
    manifest: { bonsai: { extensions: ["./index.ts"] }, ...manifest },
  };
}

export interface NpmRegistry {
  requests: LoopbackServer["requests"];
  /** For npm: this registry, and a cache and settings of its own. */
  env: Readonly<Record<string, string | undefined>>;
}

/** A folder for one test, gone after it. */
export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-install-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes a package as a folder. */
export function writePackage({ name, version, files, manifest }: PackageFixture, folder: string): string {
  const all = { ...files, "package.json": JSON.stringify({ name, version, ...manifest }) };
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

/** A working folder with these files, and a home inside it. */
export function folderWith(files: Readonly<Record<string, string>>) {
  const cwd = testFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), text);
  }
  return { cwd, env: { BONSAI_HOME: join(cwd, "home"), PATH: process.env.PATH ?? "" } };
}

/** Packs a package as `npm pack` does. @returns the tarball's path */
function packedPackage(fixture: PackageFixture): string {
  const folder = testFolder();
  writePackage(fixture, join(folder, "package"));
  const tarball = join(folder, "packed.tgz");
  execFileSync("tar", ["-czf", tarball, "-C", folder, "package"]);
  return tarball;
}

/**
 * A registry on the loopback device, for the real npm.
 * @param override answers in the place of the registry where it returns a reply
 */
export async function npmRegistry(
  fixtures: readonly PackageFixture[],
  override: (path: string) => LoopbackReply | undefined = () => undefined,
): Promise<NpmRegistry> {
  const tarballs = new Map(
    fixtures.map((fixture) => [tarballPath(fixture), readFileSync(packedPackage(fixture))]),
  );
  const server = await loopbackServer(({ path, headers }) => {
    const given = override(path);
    if (given !== undefined) return given;
    const tarball = tarballs.get(path);
    if (tarball !== undefined) return { chunks: [tarball] };
    const name = decodeURIComponent(path.slice(1));
    const versions = fixtures.filter((fixture) => fixture.name === name);
    if (versions.length === 0) return { status: 404, chunks: ["{}"] };
    return { chunks: [JSON.stringify(packument(versions, { host: `http://${headers.host}`, tarballs }))] };
  });
  onTestFinished(() => server.close());
  return { requests: server.requests, env: npmEnvironment(server.url) };
}

/** A program that replaces npm. */
export function stubNpm(script: string): { PATH: string } {
  const folder = testFolder();
  writeFileSync(join(folder, "npm"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { PATH: `${folder}:${process.env.PATH}` };
}

/** A program that installs one package as npm does, without npm's start. */
export function npmInstalling(fixture: PackageFixture): NpmRegistry["env"] {
  const folder = writePackage(fixture, testFolder());
  const target = `node_modules/${fixture.name}`;
  return stubNpm(`mkdir -p "$(dirname '${target}')" && cp -r '${folder}' '${target}'`);
}

/** npm with nothing of the user who runs the tests, and without waiting for long. */
export function npmEnvironment(registry: string): NpmRegistry["env"] {
  const folder = testFolder();
  return {
    PATH: process.env.PATH,
    HOME: folder,
    npm_config_registry: registry,
    npm_config_cache: join(folder, "cache"),
    npm_config_userconfig: join(folder, "npmrc"),
    npm_config_globalconfig: join(folder, "global-npmrc"),
    npm_config_fetch_retries: "0",
  };
}

interface Served {
  host: string;
  tarballs: ReadonlyMap<string, Buffer>;
}

/** Later fixtures are newer. */
function packument(fixtures: readonly PackageFixture[], { host, tarballs }: Served): object {
  const versions = fixtures.map((fixture) => {
    const { name, version, manifest } = fixture;
    const path = tarballPath(fixture);
    const integrity = `sha512-${createHash("sha512").update(tarballs.get(path)!).digest("base64")}`;
    return [version, { name, version, ...manifest, dist: { tarball: `${host}${path}`, integrity } }];
  });
  const { name, version } = fixtures.at(-1)!;
  return {
    name,
    "dist-tags": { latest: version, first: fixtures[0]!.version },
    versions: Object.fromEntries(versions),
  };
}

function tarballPath({ name, version }: PackageFixture): string {
  return `/${name}/-/${version}.tgz`;
}
