/** What `npm run image` refuses to find in the image. */
import { describe, expect, it } from 'vitest';
import { findingsIn } from '../../deploy/image/image-contents.ts';

const GOOD = [
  'app/chunk-2NWIO2G5.mjs',
  'app/main.mjs',
  'app/page.html',
  'cluster-autoscaler',
  'etc/passwd',
  'etc/ssl/certs/ca-certificates.crt',
  'lib/x86_64-linux-gnu/libc.so.6',
  'licenses/LICENSE',
  'licenses/sbom.cdx.json',
  'licenses/third-party-licences.txt',
  'nodejs/bin/node',
  'usr/share/doc/libc6/copyright',
];

describe('the files of an image', () => {
  it('of a bundle, a Node and three libraries are as they should be', () => {
    expect(findingsIn(GOOD)).toEqual([]);
  });

  it.each([
    ['a shell', 'bin/sh'],
    ['a package manager', 'usr/bin/apt-get'],
    ['the package manager of Node', 'usr/local/bin/npm'],
    ['a downloader', 'usr/bin/curl'],
    ['another interpreter', 'usr/bin/perl'],
    ['a program that changes the user', 'usr/bin/su'],
  ])('must not include %s', (_what, path) => {
    expect(findingsIn([...GOOD, path])).toEqual([`${path} is a program that the daemon does not need`]);
  });

  it.each([
    ['packages', 'app/node_modules/zod/index.js'],
    ['sources', 'app/main.ts'],
    ['maps of sources', 'app/main.mjs.map'],
    ['the simulated world', 'app/simulator/world.mjs'],
  ])('must not include %s', (_what, path) => {
    expect(findingsIn([...GOOD, path])).toEqual([`${path} belongs to development`]);
  });

  it.each([
    'nodejs/bin/node',
    'app/main.mjs',
    'app/page.html',
    'licenses/sbom.cdx.json',
    'licenses/third-party-licences.txt',
    'etc/passwd',
  ])('must include %s', (path) => {
    expect(findingsIn(GOOD.filter((each) => each !== path))).toEqual([`${path} is missing`]);
  });
});
