import { homedir, userInfo } from "node:os";
import { join, resolve } from "node:path";
import { creationFailure, makeFolder } from "./new-file.ts";

/** The folder of everything that Bonsai keeps: `BONSAI_HOME`, or `~/.bonsai`. */
export function bonsaiHome(env: NodeJS.ProcessEnv = process.env): string {
  // With an empty HOME, the working folder must not become the home.
  return resolve(env.BONSAI_HOME || join(homedir() || userInfo().homedir, ".bonsai"));
}

/** The folder of all sessions, one folder per working directory in it. */
export function sessionsFolder(home: string = bonsaiHome()): string {
  return join(home, "sessions");
}

export interface SessionFolderOptions {
  /** The working directory of the sessions. */
  cwd: string;
  /** Default: `bonsaiHome()`. */
  home?: string | undefined;
}

/**
 * The folder for the sessions of one working directory. Two directories can share one (`/a/b-c` and
 * `/a-b/c`); a session's header says which it belongs to.
 */
export function sessionFolder({ cwd, home }: SessionFolderOptions): string {
  return join(sessionsFolder(home), resolve(cwd).replaceAll(/[/\\:]/g, "-"));
}

export interface SessionFileOptions extends SessionFolderOptions {
  id: string;
  /** When the session began. */
  now: Date;
  /** Folder of the file. Default: the folder of its working directory in `home`. */
  folder?: string;
}

/** The path for a new session's file; its folder is made, private to the user. @throws BonsaiError `session_not_created`. */
export function newSessionFile({ id, now, folder: named, ...place }: SessionFileOptions): string {
  const folder = named === undefined ? sessionFolder(place) : resolve(named);
  try {
    makeFolder(folder);
  } catch (cause) {
    throw creationFailure(folder, cause);
  }
  return join(folder, sessionFileName({ id, now }));
}

/** `<timestamp>_<id>.jsonl`, the timestamp without the characters that a file name may not have. */
export function sessionFileName({ id, now }: { id: string; now: Date }): string {
  return `${now.toISOString().replaceAll(/[:.]/g, "-")}_${id}.jsonl`;
}
