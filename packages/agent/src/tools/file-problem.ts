const reasons: Readonly<Record<string, string>> = {
  EACCES: "permission is denied",
  EPERM: "the operation is not permitted",
  ENOTDIR: "a part of the path is a file, not a folder",
  EISDIR: "it is a folder",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EROFS: "the file system is read-only",
  ELOOP: "its symbolic links go round in a circle",
  ENAMETOOLONG: "the name is too long for this file system",
  EMFILE: "too many files are open; try again with fewer calls at once",
  EBUSY: "another program holds it",
  ENOENT: "it does not exist",
};

/** The code of a file system error, such as `ENOENT`. */
export function errorCode(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}

/** A sentence for the model: what could not be done with which path, and why. */
export function fileProblem(did: string, path: string, cause: unknown): Error {
  const reason = reasons[errorCode(cause) ?? ""] ?? (cause instanceof Error ? cause.message : String(cause));
  return new Error(`${did} ${path} failed: ${reason}.`, { cause });
}
