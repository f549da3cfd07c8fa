import type { SessionNotice } from "./notice.ts";
import type { SessionStore } from "./session-store.ts";

/** Keeps what was appended in a file that can be found again. @returns what to tell of it; undefined where nothing was deleted */
export function restoreDeleted(store: SessionStore): SessionNotice | undefined {
  const { file } = store;
  try {
    if (store.restore?.() !== true) return undefined;
    return deleted(`${file} was deleted while it was open; all of it is written anew in ${store.file}.`);
  } catch (error) {
    const why = (error as Error).message;
    return deleted(`${file} was deleted while it was open, and cannot be written anew: ${why}`);
  }
}

function deleted(message: string): SessionNotice {
  return { code: "file_deleted", message };
}
