/** A module that can be an extension. */
export function isModuleName(name: string): boolean {
  return /\.m?[jt]s$/.test(name);
}

/** Hidden files, tests, declarations, and by their underscore what extensions share. */
export function isPassedOver(name: string): boolean {
  return /^[._]|^node_modules$/.test(name) || /\.(d|test|spec)\.m?[jt]s$/.test(name);
}
