/**
 * The SDKs add the headers of a variable (`Name: value` lines) to every request, to whatever server it goes, and they
 * may hold secrets. As default headers these values take them away again.
 */
export function withoutCustomHeaders(variable: string | undefined): Record<string, null> {
  const lines = (variable ?? "").split("\n");
  const names = lines.map((line) => line.slice(0, Math.max(0, line.indexOf(":"))).trim());
  return Object.fromEntries(names.filter((name) => name !== "").map((name) => [name, null]));
}
