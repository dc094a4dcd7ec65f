/** Colour maps as tables of 256 colours. */

export type ColorMapName =
  'cividis' | 'viridis' | 'magma' | 'greys' | 'blue-orange' | 'blue-orange-dark';

export const SEQUENTIAL: readonly ColorMapName[] = ['cividis', 'viridis', 'magma', 'greys'];

/** Equally spaced colours of the published tables (CC0), six hexadecimal digits each. */
const ANCHORS = {
  cividis:
    '00224e00285b002e6a0433711a386f273e6e32436d3b496c434e6c4b546c52596d' +
    '5a5f6e61656f686a716f70737576767c7b788481798b8778938d789b9376a39a75' +
    'aba072b3a670bbad6cc3b469ccba64d4c15fddc958e6d051efd748f8df3cfee838',
  viridis:
    '440154470d6048186a482374472d7b4536814240863f49893b528b375a8d33638d' +
    '2f6a8e2c728e297a8e26818e23898e21908c1f988b1f9f8821a68528ae8031b57b' +
    '3ebc744cc26c5dc9636ece5882d34c96d83fabdc32c0df24d5e21aeae51afde725',
  magma: '000004140e363b0f70641a808c2981b73779de4968f7705cfe9f6dfecf92fcfdbf',
};

type Rgb = [red: number, green: number, blue: number];

function anchored(hex: string, place: number): Rgb {
  const count = hex.length / 6;
  const at = place * (count - 1);
  const left = Math.min(Math.floor(at), count - 2);
  const share = at - left;
  const channel = (anchor: number, i: number) =>
    parseInt(hex.slice(6 * anchor + 2 * i, 6 * anchor + 2 * i + 2), 16);
  return [0, 1, 2].map((i) =>
    Math.round((1 - share) * channel(left, i) + share * channel(left + 1, i)),
  ) as Rgb;
}

/** A colour of Oklab (Ottosson 2020) as sRGB. */
function fromOklab(lightness: number, a: number, b: number): Rgb {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return linear.map((value) => {
    const v = Math.min(1, Math.max(0, value));
    return Math.round(255 * (v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055));
  }) as Rgb;
}

/** Blue below, orange above, equally far from the middle, which is close to the paper. */
function diverging(place: number, middle: number, end: number): Rgb {
  const strength = Math.abs(2 * place - 1);
  const hue = ((place < 0.5 ? 255 : 55) * Math.PI) / 180;
  const chroma = strength * 0.15;
  const lightness = middle + strength * (end - middle);
  return fromOklab(lightness, chroma * Math.cos(hue), chroma * Math.sin(hue));
}

function colorAt(name: ColorMapName, place: number): Rgb {
  if (name === 'greys') return fromOklab(0.98 - 0.85 * place, 0, 0);
  if (name === 'blue-orange') return diverging(place, 0.97, 0.52);
  if (name === 'blue-orange-dark') return diverging(place, 0.3, 0.76);
  return anchored(ANCHORS[name], place);
}

const tables = new Map<ColorMapName, Uint8Array>();

/** 256 colours, three bytes each. */
export function colorTable(name: ColorMapName): Uint8Array {
  let table = tables.get(name);
  if (!table) {
    const bytes: number[] = [];
    for (let i = 0; i < 256; ++i) bytes.push(...colorAt(name, i / 255));
    table = Uint8Array.from(bytes);
    tables.set(name, table);
  }
  return table;
}

/** `place` between 0 and 1. */
export function cssColor(name: ColorMapName, place: number): string {
  const table = colorTable(name);
  const at = 3 * Math.round(255 * Math.min(1, Math.max(0, place)));
  return `rgb(${table[at]} ${table[at + 1]} ${table[at + 2]})`;
}

/** Black or white, whichever can be read on this colour. */
export function inkOn(name: ColorMapName, place: number): string {
  const table = colorTable(name);
  const at = 3 * Math.round(255 * Math.min(1, Math.max(0, place)));
  const linear = (byte: number) => (byte / 255) ** 2.2;
  const luminance =
    0.2126 * linear(table[at]!) + 0.7152 * linear(table[at + 1]!) + 0.0722 * linear(table[at + 2]!);
  return luminance > 0.18 ? '#111' : '#fff';
}
