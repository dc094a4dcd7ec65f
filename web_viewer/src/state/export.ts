/** Files that the page writes: pictures drawn anew at the wanted size, and exact numbers. */

export function download(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** One field of a CSV line. */
export function csvField(value: string | number): string {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export const csv = (rows: (string | number)[][]): string =>
  rows.map((row) => `${row.map(csvField).join(',')}\n`).join('');
