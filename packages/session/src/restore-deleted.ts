import type { SessionNotice } from "./notice.ts";
import type { SessionStore } from "./session-store.ts";

/** Keeps what was appended in a file that can be found again, and tells where the file had been deleted. */
export function restoreDeleted(store: SessionStore, notify: (notice: SessionNotice) => void): void {
  const { file } = store;
  const message = written(store);
  if (message !== undefined)
    notify({ code: "file_deleted", message: `${file} was deleted while it was open${message}` });
}

function written(store: SessionStore): string | undefined {
  try {
    return store.restore?.() === true ? `; all of it is written anew in ${store.file}.` : undefined;
  } catch (error) {
    return `, and cannot be written anew: ${(error as Error).message}`;
  }
}
